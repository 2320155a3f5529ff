package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// env is what one check works with: clients that note what they send, and a namespace of its own.
type env struct {
	config    *rest.Config
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
	wire      *recorder
	cleanups  []func(context.Context) error
}

// sent is one request as it went out, and what came back.
type sent struct {
	method, path, query, accept, content, answered string
	code                                           int
}

// recorder notes the requests of a check and holds its connections, so that they can be cut.
type recorder struct {
	mu    sync.Mutex
	sent  []sent
	conns map[net.Conn]struct{}
	away  bool
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.mu.Lock()
		at := len(r.sent)
		r.sent = append(r.sent, sent{
			method: request.Method, path: request.URL.Path, query: request.URL.RawQuery,
			accept: request.Header.Get("Accept"), content: request.Header.Get("Content-Type"),
		})
		r.mu.Unlock()
		response, err := next.RoundTrip(request)
		r.mu.Lock()
		defer r.mu.Unlock()
		if response != nil {
			r.sent[at].code, r.sent[at].answered = response.StatusCode, response.Header.Get("Content-Type")
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (r *recorder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.mu.Lock()
	away := r.away
	r.mu.Unlock()
	if away {
		return nil, errors.New("connection refused: the check plays a server that is away")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.conns[conn] = struct{}{}
	}
	return conn, err
}

// leave plays a server that goes away: it cuts all connections and refuses new ones.
func (r *recorder) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = true
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}

func (r *recorder) comeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = false
}

// find returns the requests that fit.
func (r *recorder) find(fits func(sent) bool) []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []sent
	for _, one := range r.sent {
		if fits(one) {
			found = append(found, one)
		}
	}
	return found
}

// configFor reads a kubeconfig without the limits that clients set themselves.
func configFor(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, "gateproof-interop"
	return config, nil
}

// prepare makes sure that there is a server, and that it serves the definitions asked for.
func prepare(ctx context.Context, kubeconfig, crds string) error {
	config, err := configFor(kubeconfig)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := kube.Discovery().ServerVersion(); err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	if crds == "" {
		return nil
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no YAML files in %s", crds)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		if err := define(ctx, client, &crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// define creates a definition where there is none, and waits until it is served.
func define(ctx context.Context, client apiextensions.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Create(ctx, crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return eventually(ctx, crd.Name+" to be established", func() (bool, error) {
		found, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

func newEnv(ctx context.Context, kubeconfig, name string) (*env, error) {
	config, err := configFor(kubeconfig)
	if err != nil {
		return nil, err
	}
	e := &env{config: config, wire: &recorder{conns: map[net.Conn]struct{}{}}}
	config.Wrap(e.wire.wrap)
	config.Dial = e.wire.dial
	if e.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if e.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	e.namespace, err = e.newNamespace(ctx, name)
	return e, err
}

// newNamespace makes a namespace that goes when the check is over.
func (e *env) newNamespace(ctx context.Context, name string) (string, error) {
	namespaces := e.kube.CoreV1().Namespaces()
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "interop-" + name + "-"}}
	made, err := namespaces.Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	e.later(func(ctx context.Context) error {
		return ignoreGone(namespaces.Delete(ctx, made.Name, metav1.DeleteOptions{}))
	})
	return made.Name, nil
}

// later notes what is to be taken away when the check is over.
func (e *env) later(undo func(context.Context) error) { e.cleanups = append(e.cleanups, undo) }

func (e *env) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	e.wire.comeBack()
	var all []error
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		if err := e.cleanups[i](ctx); err != nil {
			all = append(all, fmt.Errorf("cleaning up: %w", err))
		}
	}
	return errors.Join(all...)
}

// client is a second typed client whose configuration differs.
func (e *env) client(change func(*rest.Config)) (kubernetes.Interface, error) {
	config := rest.CopyConfig(e.config)
	change(config)
	return kubernetes.NewForConfig(config)
}

// eventually asks again until something holds.
func eventually(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		done, err := holds()
		last = err
		return done && err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waited in vain for %s: %w", what, errors.Join(err, last))
	}
	return nil
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// expect turns a wrong answer into an error that shows both.
func expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}

// refused demands that a request was refused for the right reason.
func refused(what string, err error, fits func(error) bool, reason string) error {
	if err == nil {
		return fmt.Errorf("%s was not refused", what)
	}
	if !fits(err) {
		return fmt.Errorf("%s was refused, but not as %s: %w", what, reason, err)
	}
	return nil
}

// inProtobuf demands that requests with a method on a path were sent in protobuf and taken.
func (e *env) inProtobuf(method, part string) error {
	found := e.wire.find(func(s sent) bool {
		return s.method == method && strings.Contains(s.path, part) && s.content == "application/vnd.kubernetes.protobuf"
	})
	if len(found) == 0 {
		return fmt.Errorf("no %s of %s was sent in protobuf, so this check shows nothing", method, part)
	}
	return nil
}

func ptr[T any](value T) *T { return &value }
