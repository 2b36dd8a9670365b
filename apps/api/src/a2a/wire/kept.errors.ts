import type { A2ARequestHandler } from '@a2a-js/sdk/server';

/**
 * Passes each error of a handler to `keep`, because the transport of the SDK keeps only the message of an error. An error of a stream
 * reaches the reader of the stream anyway.
 */
export function keepErrors(handler: A2ARequestHandler, keep: (error: unknown) => void): A2ARequestHandler {
  return new Proxy(handler, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...parameters: unknown[]) => unknown;
      return (...parameters: unknown[]): unknown => {
        const result = method.apply(target, parameters);
        if (!(result instanceof Promise)) return result;
        return result.catch((error: unknown) => {
          keep(error);
          throw error;
        });
      };
    },
  });
}
