import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { aborted, ProviderError, type ProviderErrorCode } from '../../errors.js';
import type { Secret } from '../../secret.js';
import type { ModelCallOptions, ModelEvent, ModelProvider, ModelReply, ModelRequest } from '../model.provider.js';
import type { ModelUsage } from '../usage.js';
import { toModelError } from './ai-sdk.errors.js';
import { isIncomplete, toCallOptions, toReply } from './ai-sdk.mapper.js';
import { toUsage } from './ai-sdk.usage.js';
import { ReplyBuilder } from './reply.builder.js';

export interface AiSdkModelOptions {
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
