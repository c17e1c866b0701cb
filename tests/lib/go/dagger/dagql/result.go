// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

package dagql

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/dagger/dagger/engine"
)

// Types that a tracer reads of: their fields lie where the engine's do (its sources of 2026).

type ResultCallType struct {
	NamedType string
	NonNull   bool
	Elem      *ResultCallType
}

type ResultCallRef struct {
	ResultID uint64
	Call     *ResultCall
	shared   *sharedResult
}

type ResultCallModule struct {
	ResultRef *ResultCallRef
	Name      string
	Ref, Pin  string
}

type ResultCall struct {
	Kind           string
	Type           *ResultCallType
	Field          string
	SyntheticOp    string
	View           string
	Nth            int64
	EffectIDs      []string
	ExtraDigests   []string
	Receiver       *ResultCallRef
	Module         *ResultCallModule
	Args           []*int
	ImplicitInputs []*int
	ProfileSkip    bool
	recipeDigest   string
}

type CallRequest struct {
	*ResultCall
	ConcurrencyKey       string
	TTL                  int64
	DoNotCache           bool
	IsPersistable        bool
	PassthroughTelemetry bool
	ReceiverTypeName     string
	CacheEvidence        *int
}

type callConcurrencyKeys struct{ callKey, concurrencyKey string }

type sharedResultID uint64

type sharedResult struct {
	inlineBorrow                *int
	imported                    bool
	storedParts                 map[string]int
	storedRecordBytes           int64
	transferRevision            uint64
	dependencyOwnershipRevision uint64
	offerParents                map[int]struct{}
	id                          sharedResultID
	replacements                uint64
	holders                     map[string]*int
	recipeKeys                  []string
	listItems                   map[int64]*sharedResult
	listItemOf                  *sharedResult
	listItemNth                 int64
	self                        interface{}
	isObject                    bool
	objClass                    struct {
		server   *int
		typeName string
	}
	resultCallMu sync.RWMutex
	resultCall   *ResultCall
	payloadMu    sync.RWMutex

	lazyMu      sync.Mutex
	lazyEval    func(context.Context) error
	attempt     *lazyEvalAttempt
	complete    bool
	leaseSyncMu sync.Mutex
}

type Result struct {
	shared   *sharedResult
	hitCache bool
}

type AnyResult interface {
	HitCache() bool
	cacheSharedResult() *sharedResult
}

func (r Result) HitCache() bool { return r.hitCache }

func (r Result) cacheSharedResult() *sharedResult { return r.shared }

type ongoingCall struct {
	callConcurrencyKeys        callConcurrencyKeys
	isPersistable              uint32
	needsPersistedEdge         bool
	persistedEdgeExpiresAtUnix int64
	pendingEdge                *int
	ttlSeconds                 int64
	initCompletedResultOnce    sync.Once
	handoffHoldActive          bool
	initCompletedResultErr     error
	waitCh                     chan struct{}
	cancel                     func(error)
	waiters                    int
	err                        error
	val                        AnyResult
	sharedWorkCtx              context.Context
	res                        *sharedResult

	recorded // the stand-in's own
}

// The compiler refuses these where a field has moved.
var (
	_ [0]struct{} = [unsafe.Offsetof(ResultCall{}.Field) - 24]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(ResultCall{}.Receiver) - 128]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(ResultCall{}.Module) - 136]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(CallRequest{}.DoNotCache) - 32]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(CallRequest{}.ReceiverTypeName) - 40]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(sharedResult{}.resultCall) - 200]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(ongoingCall{}.err) - 120]struct{}{}
)

type TypeResolver interface{ ObjectType(name string) bool }

func namedType(t *ResultCallType) string {
	if t == nil {
		return ""
	}
	return t.NamedType
}

// profCallClass is what calls are grouped by: "Container.withExec", "module:Type.function".
func profCallClass(frame *ResultCall) string {
	receiver := "Query"
	if r := frame.Receiver; r != nil && r.Call != nil {
		receiver = namedType(r.Call.Type)
	} else if r != nil && r.shared != nil {
		receiver = namedType(r.shared.resultCall.Type)
	}
	if frame.Module != nil {
		receiver = frame.Module.Name + ":" + receiver
	}
	return receiver + "." + frame.Field
}

type clientKey struct{}

func ContextWithClient(ctx context.Context, md *engine.ClientMetadata) context.Context {
	return context.WithValue(ctx, clientKey{}, md)
}

func profClientID(ctx context.Context) string {
	md, _ := ctx.Value(clientKey{}).(*engine.ClientMetadata)
	if md == nil {
		return ""
	}
	return md.ClientID
}

var lastResultID uint64

func newSharedResult(frame *ResultCall, lazy func(context.Context) error) *sharedResult {
	return &sharedResult{id: sharedResultID(atomic.AddUint64(&lastResultID, 1)), resultCall: frame, lazyEval: lazy}
}
