package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const readyWithin = time.Minute

// server is a kube-apiserver within this process.
type server struct {
	url   string
	token string
	ca    []byte
	ended chan error
}

func startServer(ctx context.Context, dir, etcd string, dualStack bool) (*server, error) {
	token, err := randomToken()
	if err != nil {
		return nil, err
	}
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",gateproof,gateproof,system:masters\n"), 0o600); err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "service-account.key")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	services := "10.96.0.0/12"
	if dualStack {
		services += ",fd00::a60:0/108"
	}
	run := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range run.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	run.SecureServing.Listener = listener
	run.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	run.SecureServing.ExternalAddress = net.IPv4(127, 0, 0, 1)
	err = flags.Parse([]string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		// Nobody is told of it: no loopback address may stand in Endpoints, and no reconciler writes any.
		"--advertise-address=192.0.2.1",
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + filepath.Join(dir, "certificates"),
		"--token-auth-file=" + tokens,
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=" + services,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + key,
		"--service-account-key-file=" + key,
		// There are no controllers that make ServiceAccounts, so Pods could not be created with it.
		"--disable-admission-plugins=ServiceAccount",
		"--shutdown-watch-termination-grace-period=0s",
	})
	if err != nil {
		return nil, err
	}
	if err := run.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := run.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	ca, err := authority(filepath.Join(dir, "certificates", "apiserver.crt"))
	if err != nil {
		return nil, err
	}
	started := &server{url: "https://" + listener.Addr().String(), token: token, ca: ca, ended: make(chan error, 1)}
	go func() {
		started.ended <- app.Run(ctx, completed)
		close(started.ended)
	}()
	return started, nil
}

// config is what a client within this process needs.
func (s *server) config() *rest.Config {
	return &rest.Config{
		Host:            s.url,
		BearerToken:     s.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca},
		QPS:             500,
		Burst:           1000,
	}
}

// waitReady returns when /readyz is well and the namespace default is there.
func (s *server) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.config())
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) (bool, error) {
		select {
		case err := <-s.ended:
			return false, fmt.Errorf("kube-apiserver ended: %w", err)
		default:
		}
		code := 0
		client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code)
		if code != http.StatusOK {
			return false, nil
		}
		return client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default").Do(ctx).Error() == nil, nil
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyWithin, true, ready)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("kube-apiserver was not ready after %s; try --verbose", readyWithin)
	}
	return err
}

func (s *server) writeKubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["real"] = &clientcmdapi.Cluster{Server: s.url, CertificateAuthorityData: s.ca}
	config.AuthInfos["real"] = &clientcmdapi.AuthInfo{Token: s.token}
	config.Contexts["real"] = &clientcmdapi.Context{Cluster: "real", AuthInfo: "real"}
	config.CurrentContext = "real"
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	// The file appears when it is whole: whoever waits for it may read it at once.
	partial := path + ".partial"
	os.Remove(partial)
	if err := os.WriteFile(partial, text, 0o600); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

func randomToken() (string, error) {
	bytes := make([]byte, 24)
	if _, err := rand.Read(bytes); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(bytes), nil
}

// authority returns the certificate of the authority from a file that holds the server's certificate before it.
func authority(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var last *pem.Block
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		last = block
	}
	if last == nil {
		return nil, fmt.Errorf("no certificate in %s", path)
	}
	return pem.EncodeToMemory(last), nil
}
