package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcd is a running member of a cluster of one.
type etcd struct {
	member   *embed.Etcd
	endpoint string
	data     string
}

// startEtcd listens on sockets below dir, so that nobody else on this machine can read what it holds.
func startEtcd(dir, parent string) (*etcd, error) {
	if parent == "" {
		parent = dir
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(parent, "etcd-")
	if err != nil {
		return nil, err
	}
	client := url.URL{Scheme: "unix", Path: filepath.Join(dir, "etcd.sock")}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "peer.sock")}
	config := embed.NewConfig()
	config.Dir = data
	config.LogLevel = "error"
	config.ListenClientUrls = []url.URL{client}
	config.ListenPeerUrls = []url.URL{peer}
	// etcd advertises no sockets. Nobody uses these: there are no peers, and the only client knows the socket.
	config.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}}
	config.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	member, err := embed.StartEtcd(config)
	if err != nil {
		os.RemoveAll(data)
		return nil, err
	}
	started := &etcd{member: member, endpoint: client.String(), data: data}
	select {
	case <-member.Server.ReadyNotify():
		return started, nil
	case err := <-member.Err():
		started.stop()
		return nil, err
	case <-time.After(time.Minute):
		started.stop()
		return nil, errors.New("not ready after a minute")
	}
}

func (e *etcd) stop() {
	e.member.Close()
	os.RemoveAll(e.data)
}
