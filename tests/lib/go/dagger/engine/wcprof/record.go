// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package wcprof is the stand-in's own recorder: ops, waits, links and spans in memory, the current op in the context,
// one dump (schema 1) at the end. Nothing is recorded unless a path was given.
package wcprof

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

type Op struct {
	id, parent                 uint32
	kind, class, ident, client string
	outcome                    string
	start, end                 int64
	trace, span                []byte
}

type wait struct {
	op       *Op
	target   **Op
	resource string
	reason   string // "link": one to a client
	start    int64
	end      int64
}

const (
	opsMax   = 65536
	waitsMax = 65536
)

var rec struct {
	path  string
	epoch int64 // Unix ns of time 0
	begin int64 // CLOCK_MONOTONIC of time 0
	ops   []Op
	waits []wait
	opN   uint32
	waitN uint32
}

type opKey struct{}

func Now() int64 {
	var t syscall.Timespec
	const clockMonotonic = 1
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func Start(path string) {
	rec.epoch = time.Now().UnixNano()
	rec.begin = Now()
	if path == "" {
		return
	}
	rec.path = path
	rec.ops = make([]Op, opsMax)
	rec.waits = make([]wait, waitsMax)
	// All of it is there before it is needed: a fault of a huge page would take longer than what is measured.
	for i := range rec.ops {
		rec.ops[i].id = 1
	}
	for i := range rec.waits {
		rec.waits[i].end = 1
	}
}

func Clock() (realtime, monotonic int64) { return rec.epoch, rec.begin }

func Current(ctx context.Context) *Op {
	op, _ := ctx.Value(opKey{}).(*Op)
	return op
}

// Detached is a context without any op: a request's own.
func Detached() context.Context { return context.Background() }

// BeginOp begins an op below the context's, and gives the context of what happens in it.
func BeginOp(ctx context.Context, kind, class, ident, client string) (context.Context, *Op) {
	if rec.path == "" {
		return ctx, nil
	}
	id := atomic.AddUint32(&rec.opN, 1)
	op := &rec.ops[id]
	*op = Op{id: id, kind: kind, class: class, ident: ident, client: client}
	if parent := Current(ctx); parent != nil {
		op.parent = parent.id
	}
	ctx = context.WithValue(ctx, opKey{}, op)
	op.start = Now() // last, for what the recorder itself takes is no part of it
	return ctx, op
}

// BeginClosure begins an op that is called by the last part of its caller's name, as the runtime knows it: "func1".
//
//go:noinline
func BeginClosure(ctx context.Context, prefix string) (context.Context, *Op) {
	ctx, op := BeginOp(ctx, "internal", "", "", "")
	if pc, _, _, known := runtime.Caller(1); known && op != nil {
		name := runtime.FuncForPC(pc).Name()
		op.class = prefix + name[strings.LastIndexByte(name, '.')+1:]
	}
	return ctx, op
}

func (op *Op) SetIdent(ident string) {
	if op != nil {
		op.ident = ident
	}
}

func (op *Op) Client() string {
	if op == nil {
		return ""
	}
	return op.client
}

func (op *Op) End(outcome string) {
	if op != nil {
		now := Now()
		op.outcome = outcome
		atomic.StoreInt64(&op.end, now)
	}
}

func (op *Op) EndErr(err error) {
	if err != nil {
		op.End("error")
	} else {
		op.End("ok")
	}
}

// Span: the op owns it.
func (op *Op) Span(trace, span []byte) {
	if op != nil {
		op.trace, op.span = trace, span
	}
}

func add(w wait) {
	if rec.path != "" {
		rec.waits[atomic.AddUint32(&rec.waitN, 1)-1] = w
	}
}

// Waited: the context's op waited from start until now, for an op (which may not have begun yet) or a resource.
func Waited(ctx context.Context, reason string, target **Op, resource string, start int64) {
	add(wait{op: Current(ctx), target: target, resource: resource, reason: reason, start: start, end: Now()})
}

// Nested: ops of that client hang below the op.
func Nested(op *Op, client string) {
	now := Now()
	add(wait{op: op, resource: client, reason: "link", start: now, end: now})
}

// Process is pid:starttime, in ns as far as /proc tells.
func Process(op *Op, pid int) {
	if rec.path == "" {
		return
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := uint64(0)
	if len(fields) > 19 {
		ticks, _ = strconv.ParseUint(fields[19], 10, 64)
	}
	Nested(op, fmt.Sprintf("%d:%d", pid, ticks*10000000))
}

// Lock takes a mutex that has a name, and records the wait for it if there was one.
//
//go:noinline
func Lock(ctx context.Context, mu *sync.Mutex, name string) {
	if mu.TryLock() {
		return
	}
	start := Now()
	mu.Lock()
	Waited(ctx, "lock", nil, name, start)
}

// ---- the dump ----

type table struct {
	strings []string
	ids     map[string]int
}

func (t *table) id(s string) int {
	id, known := t.ids[s]
	if !known {
		id = len(t.strings)
		t.strings = append(t.strings, s)
		t.ids[s] = id
	}
	return id
}

type object map[string]interface{}

// put leaves out what is empty, but times.
func (o object) put(key string, value interface{}) object {
	if key == "s" || key == "d" || (value != "" && value != 0 && value != uint32(0)) {
		o[key] = value
	}
	return o
}

func events(t *table) (list []object) {
	for i := uint32(1); i <= rec.opN; i++ {
		op := &rec.ops[i]
		list = append(list, object{"e": "op", "k": op.kind, "id": op.id}.put("p", op.parent).put("o", op.outcome).
			put("c", t.id(op.class)).put("i", t.id(op.ident)).put("cl", t.id(op.client)).
			put("s", op.start-rec.begin).put("d", atomic.LoadInt64(&op.end)-rec.begin))
		if op.span != nil {
			list = append(list, object{"e": "span", "id": op.id, "tr": hex.EncodeToString(op.trace),
				"sp": hex.EncodeToString(op.span)})
		}
	}
	for i := uint32(0); i < rec.waitN; i++ {
		w := &rec.waits[i]
		e := object{"e": "wait", "rs": w.reason}
		if w.reason == "link" {
			e = object{"e": "link", "lk": "nested_client"}
		}
		if w.op != nil {
			e.put("p", w.op.id)
		}
		if w.target != nil && *w.target != nil {
			e.put("t", (*w.target).id)
		}
		list = append(list, e.put("i", t.id(w.resource)).put("s", w.start-rec.begin).put("d", w.end-rec.begin))
	}
	return list
}

// Dump writes what was recorded. Nothing may be recorded meanwhile.
func Dump() error {
	if rec.path == "" {
		return nil
	}
	now := Now()
	t := &table{strings: []string{""}, ids: map[string]int{"": 0}}
	list := events(t)
	file, err := os.Create(rec.path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.Encode(object{"schema_version": 1, "epoch_unix_nano": rec.epoch,
		"dumped_unix_nano": rec.epoch + now - rec.begin, "dropped_events": 0, "event_count": len(list),
		"strings": t.strings})
	for _, e := range list {
		encoder.Encode(e)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
