import { Logger } from '@nestjs/common';
import { type ModelProvider, textOfParts, textPart } from '#rollcall/providers';
import { composeModel, composeRun } from '../../middleware/compose.js';
import { defaultMiddleware } from '../../middleware/default.middleware.js';
import type { RunCall } from '../../middleware/middleware.js';
import { ModelCircuit } from '../../middleware/model-circuit.middleware.js';
import type { Spending } from '../../spending/spending.js';

/** One instance for all agents of the process. */
const circuit = new ModelCircuit();

/** Asks the model once, with all default middleware. Returns the answer, or why the run was stopped. */
export async function ask(run: RunCall, model: ModelProvider, spending: Spending): Promise<string> {
  const middleware = defaultMiddleware({
    log: new Logger('runs'),
    circuit,
    timeoutMs: 60_000,
    budget: { spending, limit: { tokens: 20_000, microUsd: null } },
    inputChecks: [(text) => (text.length > 10_000 ? { reject: 'The question is too long.' } : undefined)],
    outputChecks: [(text) => ({ replace: text.trim() })],
  });
  const callModel = composeModel(middleware.model, async ({ request, signal, ...call }) => {
    return await call.model.complete(request, { signal });
  });
  const execute = composeRun(middleware.run, async function* ({ context, state, signal }) {
    const request = { messages: [...state.messages] };
    const reply = await callModel({ context, model, request, signal, turn: 1, attempt: 1, isFinal: false });
    yield { type: 'step', step: { type: 'model-replied', turn: 1, reply } };
    const parts = reply.content.map((part) => textPart(part.type === 'text' ? part.text : ''));
    return { type: 'completed', parts };
  });
  const events = execute(run);
  for (;;) {
    const step = await events.next();
    if (!step.done) continue;
    const outcome = step.value;
    return outcome.type === 'completed' ? textOfParts(outcome.parts) : JSON.stringify(outcome);
  }
}
