// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The engine's own wall-clock recorder, after wcprof's description: ops, waits
// and links in memory, the current op in the context, one NDJSON dump (schema 1)
// at the end. Everything is a no-op unless a path was given.

type recOp struct {
	id, parent                 uint32
	kind, class, ident, client string
	outcome                    string
	start, end                 int64
}

type recWait struct {
	op       *recOp
	target   **recOp
	resource string
	reason   string
	start    int64
	end      int64
	pid      int // of a link to a process
}

const (
	recOpsMax   = 65536
	recWaitsMax = 65536
)

var rec struct {
	path  string
	epoch int64 // Unix ns of time 0
	begin int64 // CLOCK_MONOTONIC of time 0
	ops   []recOp
	waits []recWait
	opN   uint32
	waitN uint32
}

type recKey struct{}

func monotonic() int64 {
	var t syscall.Timespec
	const clockMonotonic = 1
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func recStart(path string) {
	rec.epoch = time.Now().UnixNano()
	rec.begin = monotonic()
	if path == "" {
		return
	}
	rec.path = path
	rec.ops = make([]recOp, recOpsMax)
	rec.waits = make([]recWait, recWaitsMax)
}

func recCurrent(ctx context.Context) *recOp {
	op, _ := ctx.Value(recKey{}).(*recOp)
	return op
}

// recOpen begins an op below the context's that ends anywhere.
func recOpen(ctx context.Context, kind, class, ident, client string) *recOp {
	if rec.path == "" {
		return nil
	}
	id := atomic.AddUint32(&rec.opN, 1)
	op := &rec.ops[id]
	*op = recOp{id: id, kind: kind, class: class, ident: ident, client: client, start: monotonic()}
	if parent := recCurrent(ctx); parent != nil {
		op.parent = parent.id
	}
	return op
}

// recBegin begins an op and gives the context of what happens in it.
func recBegin(ctx context.Context, kind, class, ident, client string) (context.Context, *recOp) {
	op := recOpen(ctx, kind, class, ident, client)
	if op == nil {
		return ctx, nil
	}
	return context.WithValue(ctx, recKey{}, op), op
}

func (op *recOp) close(outcome string) {
	if op != nil {
		op.outcome = outcome
		atomic.StoreInt64(&op.end, monotonic())
	}
}

// recWaited: the context's op waited from start until now, for an op (which may not have begun yet) or a resource.
func recWaited(ctx context.Context, reason string, target **recOp, resource string, start int64) {
	if rec.path == "" {
		return
	}
	rec.waits[atomic.AddUint32(&rec.waitN, 1)-1] = recWait{
		op: recCurrent(ctx), target: target, resource: resource, reason: reason, start: start, end: monotonic()}
}

func recProcess(host *recOp, pid int) {
	if rec.path == "" {
		return
	}
	now := monotonic()
	rec.waits[atomic.AddUint32(&rec.waitN, 1)-1] = recWait{
		op: host, resource: processIdent(pid), start: now, end: now, pid: pid}
}

// processIdent is pid:starttime, in ns as far as /proc tells.
func processIdent(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := uint64(0)
	if len(fields) > 19 {
		ticks, _ = strconv.ParseUint(fields[19], 10, 64)
	}
	return fmt.Sprintf("%d:%d", pid, ticks*10000000)
}

// ---- the dump ----

type recHeader struct {
	SchemaVersion  int          `json:"schema_version"`
	EpochUnixNano  int64        `json:"epoch_unix_nano"`
	DumpedUnixNano int64        `json:"dumped_unix_nano"`
	DroppedEvents  uint64       `json:"dropped_events"`
	EventCount     int          `json:"event_count"`
	Strings        []string     `json:"strings"`
	OpenOps        []recUnended `json:"open_ops,omitempty"`
}

type recUnended struct {
	OpID     uint32 `json:"op_id"`
	ParentID uint32 `json:"parent_id,omitempty"`
	Kind     string `json:"kind"`
	ClassID  int    `json:"class_id,omitempty"`
	IdentID  int    `json:"ident_id,omitempty"`
	ClientID int    `json:"client_id,omitempty"`
	StartNs  int64  `json:"start_ns"`
}

type recEvent struct {
	E  string `json:"e"`
	K  string `json:"k,omitempty"`
	O  string `json:"o,omitempty"`
	Rs string `json:"rs,omitempty"`
	Lk string `json:"lk,omitempty"`
	ID uint32 `json:"id,omitempty"`
	P  uint32 `json:"p,omitempty"`
	T  uint32 `json:"t,omitempty"`
	C  int    `json:"c,omitempty"`
	I  int    `json:"i,omitempty"`
	Cl int    `json:"cl,omitempty"`
	S  int64  `json:"s"`
	D  int64  `json:"d"`
}

type recTable struct {
	strings []string
	ids     map[string]int
}

func (t *recTable) id(s string) int {
	id, known := t.ids[s]
	if !known {
		id = len(t.strings)
		t.strings = append(t.strings, s)
		t.ids[s] = id
	}
	return id
}

func recEvents(t *recTable) (events []recEvent, open []recUnended) {
	for i := uint32(1); i <= rec.opN; i++ {
		op := &rec.ops[i]
		c, id, cl := t.id(op.class), t.id(op.ident), t.id(op.client)
		if end := atomic.LoadInt64(&op.end); end != 0 {
			events = append(events, recEvent{E: "op", K: op.kind, O: op.outcome, ID: op.id, P: op.parent, C: c, I: id,
				Cl: cl, S: op.start - rec.begin, D: end - rec.begin})
		} else {
			open = append(open, recUnended{OpID: op.id, ParentID: op.parent, Kind: op.kind, ClassID: c, IdentID: id,
				ClientID: cl, StartNs: op.start - rec.begin})
		}
	}
	for i := uint32(0); i < rec.waitN; i++ {
		w := &rec.waits[i]
		e := recEvent{E: "wait", Rs: w.reason, I: t.id(w.resource), S: w.start - rec.begin, D: w.end - rec.begin}
		if w.pid != 0 {
			e.E, e.Lk = "link", "nested_client"
		}
		if w.op != nil {
			e.P = w.op.id
		}
		if w.target != nil && *w.target != nil {
			e.T = (*w.target).id
		}
		events = append(events, e)
	}
	return events, open
}

// recDump writes what was recorded. Nothing may be recorded meanwhile.
func recDump() error {
	if rec.path == "" {
		return nil
	}
	now := monotonic()
	table := &recTable{strings: []string{""}, ids: map[string]int{"": 0}}
	events, open := recEvents(table)
	file, err := os.Create(rec.path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	encoder := json.NewEncoder(out)
	encoder.Encode(recHeader{SchemaVersion: 1, EpochUnixNano: rec.epoch, DumpedUnixNano: rec.epoch + now - rec.begin,
		EventCount: len(events), Strings: table.strings, OpenOps: open})
	for i := range events {
		encoder.Encode(&events[i])
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
