package main

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// quiet keeps the log of kube-apiserver away from people who did not ask for it.
func quiet(silent bool) {
	if !silent {
		return
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		_ = flags.Set(name, value)
	}
	klog.SetOutput(io.Discard)
}
