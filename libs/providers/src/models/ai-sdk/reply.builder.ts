import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { AssistantPart } from '../message.js';
import type { ModelEvent, ModelReply, ModelUsage } from '../model.provider.js';
import { identity, isIncomplete, toFinish, toToolCall, toUsage, toVendorData } from './ai-sdk.mapper.js';

type Block = Extract<AssistantPart, { text: string }>;

/** Builds the reply from the parts of a stream. The result equals the reply of a call without streaming. */
export class ReplyBuilder {
  private readonly content: AssistantPart[] = [];
  private readonly open = new Map<string, Block>();
  private ids: Pick<ModelReply, 'id' | 'model'> = {};
  /** Undefined until the vendor has reported that the answer is complete. */
  reply?: ModelReply;
  usage?: ModelUsage;

  /** Adds a part and returns the event for the caller, if there is one. */
  add(part: LanguageModelV4StreamPart): ModelEvent | undefined {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        return this.begin(part.id, part.type === 'text-start' ? 'text' : 'reasoning', part.providerMetadata);
      case 'text-delta':
      case 'reasoning-delta':
        return this.append(part.id, part.delta, part.providerMetadata);
      case 'text-end':
      case 'reasoning-end':
        return this.append(part.id, '', part.providerMetadata);
      case 'tool-input-start':
        return { type: 'tool-call-started', id: part.id, name: part.toolName };
      case 'tool-input-delta':
        return { type: 'tool-call-input', id: part.id, text: part.delta };
      case 'tool-call':
        return this.call(part);
      case 'response-metadata':
        this.ids = identity(part);
        return undefined;
      case 'finish':
        return this.finish(part);
      case 'error': // thrown by the caller
      case 'stream-start':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
      case 'custom':
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'tool-approval-request':
      case 'tool-result':
        return undefined; // not used by Rollcall
    }
  }

  private begin(id: string, type: Block['type'], metadata?: SharedV4ProviderMetadata): undefined {
    const block: Block = { type, text: '', ...toVendorData(metadata) };
    this.open.set(id, block);
    this.content.push(block);
  }

  private append(id: string, text: string, metadata?: SharedV4ProviderMetadata): ModelEvent | undefined {
    const block = this.open.get(id);
    if (!block) return undefined;
    block.text += text;
    const { vendorData } = toVendorData(metadata);
    if (vendorData) block.vendorData = { ...block.vendorData, ...vendorData };
    return text === '' ? undefined : { type: block.type, text };
  }

  private call(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): ModelEvent {
    const call = toToolCall(part);
    this.content.push(call);
    return { type: 'tool-call', call };
  }

  private finish({ usage, finishReason }: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): undefined {
    this.usage = toUsage(usage);
    if (isIncomplete(finishReason)) return;
    const content = this.content.filter((part) => part.type !== 'text' || part.text !== '');
    this.reply = { content, finish: toFinish(finishReason), usage: this.usage, ...this.ids };
  }
}
