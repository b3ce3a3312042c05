package s3

import (
	"context"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	// signing is the SDK's name of the step that signs a request.
	signing        = "Signing"
	acceptEncoding = "Accept-Encoding"
)

// unsignedEncoding keeps Accept-Encoding out of the signature, and in the request: Google
// rewrites that header before it checks the signature, which then never fits.
func unsignedEncoding(stack *middleware.Stack) error {
	set := func(id, value string) middleware.FinalizeMiddleware {
		return middleware.FinalizeMiddlewareFunc(id, func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if req, ok := in.Request.(*smithyhttp.Request); ok {
				req.Header.Del(acceptEncoding)
				if value != "" {
					req.Header.Set(acceptEncoding, value)
				}
			}
			return next.HandleFinalize(ctx, in)
		})
	}
	if err := stack.Finalize.Insert(set("HideEncoding", ""), signing, middleware.Before); err != nil {
		return err
	}
	return stack.Finalize.Insert(set("ShowEncoding", "identity"), signing, middleware.After)
}
