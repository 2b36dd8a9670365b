import type { ModelCallOptions, ModelEvent, ModelProvider, ModelReply, ModelRequest } from './model.provider.js';

interface ModelDefinition {
  readonly vendor: string;
  readonly model: string;
  complete(request: ModelRequest, options?: ModelCallOptions): Promise<ModelReply>;
}

/** Creates a model whose vendor does not stream: a stream consists of the texts and calls of the complete reply. */
export function defineModel({ vendor, model, complete }: ModelDefinition): ModelProvider {
  return {
    vendor,
    model,
    complete,
    async *stream(request, options): AsyncGenerator<ModelEvent> {
      const reply = await complete(request, options);
      for (const part of reply.content) {
        if (part.type === 'text' || part.type === 'reasoning') yield { type: part.type, text: part.text };
        if (part.type === 'tool-call') yield { type: 'tool-call', call: part };
      }
      yield { type: 'finished', reply };
    },
  };
}
