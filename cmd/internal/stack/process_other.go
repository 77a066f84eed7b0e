//go:build !linux

package stack

import (
	"errors"
	"os"
	"syscall"
)

const (
	stop = syscall.Signal(0)
	cont = syscall.Signal(0)
)

var errLinuxOnly = errors.New("parts are started on Linux only; run them yourself, and name them with FRESHET_POSTGRES_URL, FRESHET_KAFKA and FRESHET_REDIS")

func attributesOf(string) (*syscall.SysProcAttr, error) { return nil, errLinuxOnly }

func account(string) (uid, gid uint32, err error) { return 0, 0, errLinuxOnly }

func signalFamily(int, syscall.Signal) error { return errLinuxOnly }

func exclusive(*os.File) error { return errLinuxOnly }
