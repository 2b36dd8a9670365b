import { ProviderError } from '../errors.js';

export interface BodyGuard {
  host: string;
  limit: number;
  explain(error: unknown): ProviderError;
  /** Called once nothing more is read, for whatever reason. */
  end(): void;
}

/** The same bytes, counted; more than the limit is an error, and whatever breaks arrives as one of ours. */
export function guardedBody(body: ReadableStream<Uint8Array>, guard: BodyGuard): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let seen = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          guard.end();
          return controller.close();
        }
        seen += value.byteLength;
        if (seen > guard.limit) throw tooLarge(guard);
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
  return new ProviderError('EGRESS_TOO_LARGE', `The answer of ${host} is larger than the ${limit} bytes allowed.`);
}
