package rebuild

import (
	"context"
	"errors"
	"log/slog"
	"runtime"

	"go.uber.org/zap/zapcore"
)

// core passes etcdutl's log on to ours, as details; what goes wrong comes as errors, too.
type core struct {
	log    *slog.Logger
	fields []zapcore.Field
}

// Enabled implements zapcore.Core.
func (c *core) Enabled(level zapcore.Level) bool { return level >= zapcore.InfoLevel }

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{log: c.log, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// Check implements zapcore.Core.
func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core.
func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	all := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(all)
	}
	level := slog.LevelDebug
	if entry.Level >= zapcore.WarnLevel {
		level = slog.LevelWarn
	}
	c.log.LogAttrs(context.Background(), level, "etcdutl: "+entry.Message, slog.Any("details", all.Fields))
	return nil
}

// Sync implements zapcore.Core.
func (c *core) Sync() error { return nil }

// fatal stands in place of the end of the program.
type fatal chan<- error

// OnWrite implements zapcore.CheckWriteHook.
func (f fatal) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(entry.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = errors.Join(err, cause)
		}
	}
	report(f, err)
	runtime.Goexit()
}
