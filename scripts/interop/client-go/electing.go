package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

func leaderElection(ctx context.Context, e *env) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	leads := make(chan string, 10)
	candidate := func(ctx context.Context, name string, config *rest.Config, release bool) error {
		lock, err := resourcelock.NewFromKubeconfig(
			resourcelock.LeasesResourceLock, e.namespace, "leader", resourcelock.ResourceLockConfig{Identity: name}, config, time.Second,
		)
		if err != nil {
			return err
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: release,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- name },
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return err
		}
		go elector.Run(ctx)
		return nil
	}
	next := func() (string, error) {
		select {
		case name := <-leads:
			return name, nil
		case <-time.After(10 * time.Second):
			return "", errors.New("nobody leads")
		}
	}
	// Each candidate has connections of its own; those of the second get cut.
	plain := rest.CopyConfig(e.config)
	uncut(plain)
	first, letGo := context.WithCancel(ctx)
	defer letGo()
	var order []string
	for _, step := range []func() error{
		func() error { return candidate(first, "one", plain, true) },
		func() error {
			defer letGo()
			return candidate(ctx, "two", e.config, false)
		},
		func() error {
			e.wire.leave()
			return candidate(ctx, "three", plain, true)
		},
	} {
		if err := step(); err != nil {
			return err
		}
		name, err := next()
		if err != nil {
			return fmt.Errorf("after %v: %w", order, err)
		}
		order = append(order, name)
	}
	e.wire.comeBack()
	lease, err := e.kube.CoordinationV1().Leases(e.namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		expect("who led in turn", strings.Join(order, ", "), "one, two, three"),
		expect("who holds the lease", *lease.Spec.HolderIdentity, "three"),
		expect("whether the lease tells of hand-overs", *lease.Spec.LeaseTransitions > 0, true),
		e.inProtobuf("PUT", "/leases/leader"),
	)
}

func coreEvents(ctx context.Context, e *env) error {
	about, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(ctx, configMap(e.namespace, "about", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(eventSink(e))
	recorder := broadcaster.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: "interop"})
	for range 3 {
		recorder.Eventf(about, corev1.EventTypeWarning, "Seen", "number %d", 1)
	}
	return eventually(ctx, "one event that counts 3", func() (bool, error) {
		list, err := e.kube.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=about,reason=Seen"})
		if err != nil || len(list.Items) != 1 {
			return false, err
		}
		event := list.Items[0]
		return event.Count == 3 && event.Message == "number 1" && event.Type == "Warning" && event.InvolvedObject.UID == about.UID, nil
	})
}

func groupedEvents(ctx context.Context, e *env) error {
	about, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(ctx, configMap(e.namespace, "about", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: e.kube.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	recorder := broadcaster.NewRecorder(clientgoscheme.Scheme, "interop.dev/controller")
	recorder.Eventf(about, nil, corev1.EventTypeNormal, "Programmed", "Program", "note %d", 7)
	return errors.Join(
		eventually(ctx, "the event in its own group", func() (bool, error) {
			list, err := e.kube.EventsV1().Events(e.namespace).List(ctx, metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				return false, err
			}
			event := list.Items[0]
			return event.Note == "note 7" && event.Regarding.Name == "about" && event.Action == "Program" && !event.EventTime.IsZero(), nil
		}),
		eventually(ctx, "the event in the core group", func() (bool, error) {
			list, err := e.kube.CoreV1().Events(e.namespace).SearchWithContext(ctx, clientgoscheme.Scheme, about)
			if err != nil || len(list.Items) != 1 {
				return false, err
			}
			event := list.Items[0]
			return event.Message == "note 7" && event.InvolvedObject.Name == "about" && event.ReportingController == "interop.dev/controller", nil
		}),
		e.inProtobuf("POST", "/apis/events.k8s.io/"),
	)
}
