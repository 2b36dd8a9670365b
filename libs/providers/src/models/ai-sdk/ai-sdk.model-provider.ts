import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { readRetryAfter } from '../../egress/retry-after.js';
import { aborted, findProviderError, ProviderError, type ProviderErrorCode, reasonOf } from '../../errors.js';
import type { Secret } from '../../secrets/secret.js';
import type {
  ModelCallOptions,
  ModelEvent,
  ModelProvider,
  ModelReply,
  ModelRequest,
  ModelUsage,
} from '../model.provider.js';
import { codeOfStatus, usageOfStatus } from '../model.vendor.js';
import { isIncomplete, toCallOptions, toReply, toUsage } from './ai-sdk.mapper.js';
import { ReplyBuilder } from './reply.builder.js';

interface AiSdkModelOptions {
  vendor: string;
  model: string;
  /** Called before the first call of the model, because the packages of the SDK are large. */
  load: () => Promise<LanguageModelV4>;
  /** Used only to remove the key from error messages. */
  key?: Secret;
  /** Vendor-specific options for every call. */
  providerOptions?: LanguageModelV4CallOptions['providerOptions'];
}

/**
 * Calls a model through the AI SDK, for every vendor that the SDK supports. The loop, the retries and the timeouts of
 * the SDK are not used, because every attempt must be visible to be charged.
 */
export class AiSdkModelProvider implements ModelProvider {
  readonly vendor: string;
  readonly model: string;
  private loaded?: Promise<LanguageModelV4>;

  constructor(private readonly options: AiSdkModelOptions) {
    this.vendor = options.vendor;
    this.model = options.model;
  }

  async complete(request: ModelRequest, { signal }: ModelCallOptions = {}): Promise<ModelReply> {
    this.throwIfAborted(signal);
    try {
      const model = await this.sdkModel();
      const result = await model.doGenerate(this.callOptions(request, signal));
      if (isIncomplete(result.finishReason)) throw this.incomplete(toUsage(result.usage));
      return toReply(result);
    } catch (error) {
      throw this.explain(error, signal, 'MODEL_ANSWER_UNREADABLE');
    }
  }

  async *stream(request: ModelRequest, { signal }: ModelCallOptions = {}): AsyncGenerator<ModelEvent> {
    this.throwIfAborted(signal);
    const builder = new ReplyBuilder();
    let hasBegun = false;
    try {
      for await (const part of this.parts(request, signal)) {
        if (part.type === 'error') throw this.explain(part.error, signal, 'MODEL_STREAM_BROKEN', hasBegun);
        const event = builder.add(part);
        if (!event) continue;
        hasBegun = true;
        yield event;
      }
      if (!builder.reply) throw this.incomplete(builder.usage);
      yield { type: 'finished', reply: builder.reply };
    } catch (error) {
      throw this.explain(error, signal, 'MODEL_STREAM_BROKEN', hasBegun);
    }
  }

  private async *parts(request: ModelRequest, signal?: AbortSignal): AsyncGenerator<LanguageModelV4StreamPart> {
    const model = await this.sdkModel();
    const { stream } = await model.doStream(this.callOptions(request, signal));
    yield* stream;
  }

  private async sdkModel(): Promise<LanguageModelV4> {
    return await (this.loaded ??= this.options.load());
  }

  private callOptions(request: ModelRequest, abortSignal?: AbortSignal): LanguageModelV4CallOptions {
    return { ...toCallOptions(request), providerOptions: this.options.providerOptions, abortSignal };
  }

  private throwIfAborted(signal?: AbortSignal): void {
    if (signal?.aborted) throw aborted(`The call to ${this.label}`);
  }

  private explain(
    error: unknown,
    signal: AbortSignal | undefined,
    fallbackCode: ProviderErrorCode,
    hasBegun = false,
  ): ProviderError {
    if (signal?.aborted) return aborted(`The call to ${this.label}`);
    return toModelError(error, { label: this.label, key: this.options.key, fallbackCode, hasBegun });
  }

  private incomplete(usage?: ModelUsage): ProviderError {
    const message = `${this.label} ended its answer before it was complete.`;
    return new ProviderError('MODEL_STREAM_BROKEN', message, { usage });
  }

  private get label(): string {
    return `${this.vendor} ${this.model}`;
  }
}

const MAX_REASON_LENGTH = 500;
const NO_CREDIT = /insufficient_quota|billing_hard_limit/;

/** The call that an error belongs to. */
interface FailedCall {
  /** The name of the model, for the message. */
  label: string;
  key?: Secret;
  /** The code for an error without an HTTP status. */
  fallbackCode: ProviderErrorCode;
  /** Whether a part of the answer has arrived, so that tokens were used. */
  hasBegun?: boolean;
}

/** Converts an error of the AI SDK. The result contains neither the request, nor the response, nor the key. */
function toModelError(error: unknown, context: FailedCall): ProviderError {
  const inner = findProviderError(error);
  if (inner) return fromEgress(inner, context);
  const { statusCode: status, responseHeaders = {}, responseBody = '' } = error as Partial<APICallError>;
  const reason = (context.key?.redactIn(reasonOf(error)) ?? reasonOf(error)).slice(0, MAX_REASON_LENGTH);
  if (status === undefined || status < 400) {
    const code = APICallError.isInstance(error) && status === undefined ? 'MODEL_UNAVAILABLE' : context.fallbackCode;
    return new ProviderError(code, `The call to ${context.label} failed: ${reason}`);
  }
  const code = NO_CREDIT.test(responseBody) ? 'MODEL_QUOTA_EXHAUSTED' : codeOfStatus(status);
  const message = `${context.label} responded with ${status}: ${reason}${ADVICE[code] ?? ''}`;
  const usage = context.hasBegun ? undefined : usageOfStatus(status);
  return new ProviderError(code, message, { status, retryAfterMs: readRetryAfter(responseHeaders), usage });
}

const ADVICE: Partial<Record<ProviderErrorCode, string>> = {
  MODEL_KEY_REFUSED: ' Check the key of this preset.',
  MODEL_QUOTA_EXHAUSTED: ' The account at the vendor has no credit left.',
};

function fromEgress(error: ProviderError, { label, fallbackCode }: FailedCall): ProviderError {
  if (error.code !== 'EGRESS_UNREACHABLE' && error.code !== 'EGRESS_TIMED_OUT') return error;
  const code = fallbackCode === 'MODEL_STREAM_BROKEN' ? fallbackCode : 'MODEL_UNAVAILABLE';
  return new ProviderError(code, `The call to ${label} failed: ${error.message}`, { cause: error });
}
