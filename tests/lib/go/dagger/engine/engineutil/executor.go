// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package engineutil is, of the engine's, what runs a container: phase by phase, then the process.
package engineutil

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
	"unsafe"

	"github.com/dagger/dagger/core"
	"github.com/dagger/dagger/engine"
	"github.com/dagger/dagger/engine/wcprof"
	"go.opentelemetry.io/otel/trace"
)

type ExecutionMetadata struct {
	Internal              bool
	UseRecipeIDsByDefault bool
	CallDigest            string
}

type Mount struct {
	Src            io.Reader
	Selector, Dest string
	Readonly       bool
}

type ProcessInfo struct {
	Args           []string
	Env            []string
	Cwd, User      string
	Stdin          io.ReadCloser
	Stdout, Stderr io.WriteCloser
}

// As in the engine's sources of 2026: a tracer reads of it.
type execState struct {
	id                   string
	procInfo             *ProcessInfo
	rootMount            Mount
	mounts               []Mount
	cleanups             *int
	spec                 *int
	networkNamespace     io.Closer
	rootfsPath           string
	nonRootMounts        []string
	uid, gid             uint32
	sgids                []uint32
	resolvConfPath       string
	hostsFilePath        string
	exitCodePath         string
	metaMountDirPath     string
	origEnvMap           map[string]string
	startedOnce          *sync.Once
	startedCh            chan<- struct{}
	causeCtx             trace.SpanContext
	execMD               *ExecutionMetadata
	sessionID            string
	callerClientID       string
	nestedClientMetadata *engine.ClientMetadata
	done                 chan struct{}

	nested chan struct{} // the stand-in's own: the nested client is served
}

var (
	_ [0]struct{} = [unsafe.Offsetof(execState{}.execMD) - 360]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(execState{}.callerClientID) - 384]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(execState{}.nestedClientMetadata) - 400]struct{}{}
)

type Client struct {
	Serve func(md *engine.ClientMetadata) // a nested client's request
}

type executorSetupFunc func(context.Context, *execState) error

type namedSetupFunc struct {
	name string
	fn   executorSetupFunc
}

var ids struct {
	sync.Mutex
	n int
}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return "exec-" + string(rune('a'+ids.n/26%26)) + string(rune('a'+ids.n%26))
}

//go:noinline
func (c *Client) Run(ctx context.Context, id string, rootMount Mount, mounts []Mount, procInfo ProcessInfo,
	started chan<- struct{}, causeCtx trace.SpanContext, execMD *ExecutionMetadata, sessionID string,
	callerClientID string, nestedClientMetadata *engine.ClientMetadata) (rerr error) {
	if id == "" {
		id = newID()
	}
	state := &execState{id: id, procInfo: &procInfo, rootMount: rootMount, mounts: mounts, startedCh: started,
		causeCtx: causeCtx, execMD: execMD, sessionID: sessionID, callerClientID: callerClientID,
		nestedClientMetadata: nestedClientMetadata, done: make(chan struct{})}
	ident := state.id
	if execMD != nil && execMD.CallDigest != "" {
		ident = execMD.CallDigest
	}
	ctx, op := wcprof.BeginOp(ctx, "exec", "exec.run", ident, callerClientID)
	span := core.StartSpan(ctx, op, "exec.run")
	if nestedClientMetadata != nil {
		wcprof.Nested(op, nestedClientMetadata.ClientID)
	}
	err := c.run(ctx, state,
		namedSetupFunc{"setupNetwork", c.setupNetwork},
		namedSetupFunc{"generateBaseSpec", c.generateBaseSpec},
		namedSetupFunc{"filterEnvs", c.filterEnvs},
		namedSetupFunc{"setupRootfs", c.setupRootfs},
		namedSetupFunc{"enableGPU", c.enableGPU},
		namedSetupFunc{"setupNestedClient", c.setupNestedClient},
		namedSetupFunc{"installCACerts", c.installCACerts},
		namedSetupFunc{"runContainer", c.runContainer},
	)
	span.End()
	op.EndErr(err)
	return err
}

//go:noinline
func (c *Client) run(ctx context.Context, state *execState, setupFuncs ...namedSetupFunc) (rerr error) {
	defer func() {
		close(state.done)
		if state.nested != nil {
			<-state.nested
		}
	}()
	for _, f := range setupFuncs {
		phaseCtx, op := wcprof.BeginOp(ctx, "exec_phase", "exec."+f.name, state.id, "")
		err := f.fn(phaseCtx, state)
		op.EndErr(err)
		if err != nil {
			return err
		}
	}
	return nil
}

//go:noinline
func (c *Client) setupNetwork(ctx context.Context, state *execState) error {
	func() { time.Sleep(time.Millisecond) }()
	return nil
}

//go:noinline
func (c *Client) generateBaseSpec(ctx context.Context, state *execState) error {
	state.rootfsPath = "/"
	return nil
}

//go:noinline
func (c *Client) filterEnvs(_ context.Context, state *execState) error {
	state.origEnvMap = map[string]string{}
	return nil
}

//go:noinline
func (c *Client) setupRootfs(ctx context.Context, state *execState) error {
	time.Sleep(time.Millisecond)
	return nil
}

//go:noinline
func (c *Client) enableGPU(_ context.Context, state *execState) error { return nil }

//go:noinline
func (c *Client) setupNestedClient(ctx context.Context, state *execState) error {
	if state.nestedClientMetadata == nil {
		return nil
	}
	state.nested = make(chan struct{})
	go func() {
		defer close(state.nested)
		c.Serve(state.nestedClientMetadata)
	}()
	return nil
}

// installCACerts runs a container of its own, below its phase.
//
//go:noinline
func (c *Client) installCACerts(ctx context.Context, state *execState) error {
	inner := &execState{id: state.id + "-ca", done: make(chan struct{}), execMD: &ExecutionMetadata{CallDigest: "none"}}
	return c.run(ctx, inner, namedSetupFunc{"setupStdio", c.setupStdio})
}

//go:noinline
func (c *Client) setupStdio(_ context.Context, state *execState) error { return nil }

//go:noinline
func (c *Client) runContainer(ctx context.Context, state *execState) error {
	time.Sleep(2 * time.Millisecond)
	return c.callWithIO(ctx, state.procInfo)
}

// callWithIO starts the runtime from a goroutine, as the engine does.
//
//go:noinline
func (c *Client) callWithIO(ctx context.Context, process *ProcessInfo) error {
	done := make(chan error)
	go func() {
		cmd := exec.Command(process.Args[0], process.Args[1:]...)
		cmd.Stderr = os.Stderr
		err := cmd.Start()
		if err == nil {
			wcprof.Process(wcprof.Current(ctx), cmd.Process.Pid)
			err = cmd.Wait()
			time.Sleep(3 * time.Millisecond) // what is left of its output
		}
		done <- err
	}()
	return <-done
}
