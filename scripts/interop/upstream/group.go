package main

import (
	"os"
	"syscall"
)

// ownGroup makes a child the head of a process group.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// endGroup ends a child and its children.
func endGroup(head *os.Process) error {
	return syscall.Kill(-head.Pid, syscall.SIGKILL)
}
