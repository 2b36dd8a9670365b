import { type ModelReply, ProviderError } from '#rollcall/providers';
import type { ModelCall } from '../middleware/middleware.js';

/** Calls the model once. It is the innermost part of the model middleware. All steps before the call are stored first. */
export function attemptModel(call: ModelCall): Promise<ModelReply> {
  return call.writer ? call.writer.commit().then(() => callModel(call)) : callModel(call);
}

function callModel(call: ModelCall): Promise<ModelReply> {
  return call.onDelta ? streamed(call) : call.model.complete(call.request, { signal: call.signal });
}

async function streamed({ model, request, signal, onDelta }: ModelCall): Promise<ModelReply> {
  for await (const event of model.stream(request, { signal })) {
    if (event.type === 'finished') return event.reply;
    if (event.type === 'text' || event.type === 'reasoning') onDelta?.({ type: event.type, text: event.text });
  }
  const message = `${model.vendor} ${model.model} ended its answer before it was complete.`;
  throw new ProviderError('MODEL_STREAM_BROKEN', message);
}
