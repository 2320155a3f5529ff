package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// column is a server and what was measured of it.
type column struct {
	Server string `json:"server"`
	// Rows holds, for each name, the values of all rounds.
	Rows map[string][]float64 `json:"rows"`

	command *exec.Cmd
	config  string
	client  *client
	ended   chan error
}

func (c *column) add(row string, value float64) {
	if c.Rows == nil {
		c.Rows = map[string][]float64{}
	}
	c.Rows[row] = append(c.Rows[row], value)
}

const startLimit = 2 * time.Minute

// start runs the server until it takes a write.
func (c *column) start() error {
	begin := time.Now()
	c.command.Stderr = os.Stderr
	c.ended = make(chan error, 1)
	if err := c.command.Start(); err != nil {
		return err
	}
	go func() { c.ended <- c.command.Wait() }()
	for {
		select {
		case err := <-c.ended:
			c.ended <- err
			return fmt.Errorf("the server ended: %w", errors.Join(err, errors.New("see above")))
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(begin) > startLimit {
			return errors.New("the server does not start")
		}
		client, err := newClient(c.config)
		if err != nil {
			continue
		}
		c.client = client
		if err := client.post("/api/v1/namespaces", object("Namespace", "speed", "")); err == nil {
			break
		}
	}
	c.add("start-up, s", time.Since(begin).Seconds())
	return c.memory("memory after start, MiB")
}

// memory notes how much the process holds.
func (c *column) memory(row string) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			c.add(row, kib/1024)
			return err
		}
	}
	return errors.New("the system does not tell how much memory a process holds")
}

func (c *column) stop() {
	if c.command.Process == nil {
		return
	}
	_ = c.command.Process.Signal(syscall.SIGINT)
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		_ = c.command.Process.Kill()
		<-c.ended
	}
}

// client sends requests over TLS and keeps its connections.
type client struct {
	url, token string
	http       *http.Client
}

func newClient(kubeconfig string) (*client, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s does not name one cluster and one user", kubeconfig)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100}
	return &client{url: config.Clusters[0].Cluster.Server, token: config.Users[0].User.Token, http: &http.Client{Transport: transport}}, nil
}

func (c *client) request(method, path, body string) (*http.Response, error) {
	request, err := http.NewRequest(method, c.url+path, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s %s: %s %s", method, path, response.Status, text)
	}
	return response, nil
}

// send makes a request and reads the answer to its end; it tells how long that was.
func (c *client) send(method, path, body string) (int64, error) {
	response, err := c.request(method, path, body)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return io.Copy(io.Discard, response.Body)
}

func (c *client) post(path, body string) error {
	_, err := c.send(http.MethodPost, path, body)
	return err
}
