package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Testbed is a running `gateproof testbed`, with its line of JSON.
type Testbed struct {
	Kubeconfig     string `json:"kubeconfig"`
	GatewayClass   string `json:"gatewayClass"`
	DialRule       string `json:"dialRule"`
	GatewayNetwork string `json:"gatewayNetwork"`

	command *exec.Cmd
}

// How long a testbed may take to end before it is killed.
const shutdownGrace = 10 * time.Second

// startTestbed starts a testbed that keeps its kubeconfig in dir. No fault is the plain reference.
func startTestbed(ctx context.Context, suites Suites, dir, fault string) (*Testbed, error) {
	args := []string{"testbed", "--format", "json", "--kubeconfig", filepath.Join(dir, "kubeconfig")}
	if suites.Definitions != "" {
		args = append(args, "--crds", suites.Definitions)
	}
	if fault != "" {
		args = append(args, "--fault", fault)
	}
	command := exec.CommandContext(ctx, suites.Gateproof, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = shutdownGrace
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the testbed: %w", err)
	}
	testbed := &Testbed{command: command}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the testbed ended before it served: %w", err), command.Wait())
	}
	if err := json.Unmarshal(line, testbed); err != nil {
		return nil, errors.Join(fmt.Errorf("reading what the testbed says: %w", err), testbed.stop())
	}
	if strings.Contains(testbed.DialRule, "+") {
		return nil, errors.Join(fmt.Errorf("the testbed may not bind port 80, and upstream's TCP tests dial by themselves: "+
			"run this as a user who may, or set net.ipv4.ip_unprivileged_port_start=0"), testbed.stop())
	}
	return testbed, nil
}

// usableAddress is one that Gateways can get and that the reference gives out last.
func (t *Testbed) usableAddress() string {
	return strings.TrimSuffix(t.GatewayNetwork, "0/24") + "254"
}

// The address that no Gateway of the reference can get: documentation only (RFC 5737).
const unusableAddress = "192.0.2.1"

// target is what upstream's suite is told of it. Its GatewayClass claims features.
func (t *Testbed) target() Target {
	return Target{Kubeconfig: t.Kubeconfig, GatewayClass: t.GatewayClass, Usable: t.usableAddress(), Unusable: unusableAddress}
}

func (t *Testbed) stop() error {
	if err := t.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return t.command.Wait()
}
