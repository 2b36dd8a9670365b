import { ProviderError } from '../errors.js';

export interface BodyGuard {
  host: string;
  limit: number;
  explain(error: unknown): ProviderError;
  /** Called when reading ends for any reason. */
  end(): void;
}

/** Returns the same stream, with a limit for its size, and with all errors converted to ProviderErrors. */
export function guardedBody(body: ReadableStream<Uint8Array>, guard: BodyGuard): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          guard.end();
          return controller.close();
        }
        size += value.byteLength;
        if (size > guard.limit) throw tooLarge(guard);
        controller.enqueue(value);
      } catch (error) {
        const explained = guard.explain(error);
        guard.end();
        controller.error(explained);
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
      guard.end();
    },
  });
}

function tooLarge({ host, limit }: BodyGuard): ProviderError {
  return new ProviderError('EGRESS_TOO_LARGE', `The response of ${host} is larger than the limit of ${limit} bytes.`);
}
