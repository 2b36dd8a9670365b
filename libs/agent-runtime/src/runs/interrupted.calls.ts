import { toUserMessage } from '../agents/message.mapper.js';
import { openCalls } from '../loop/open.turn.js';
import type { PendingApproval } from '../loop/run.outcome.js';
import type { RunState } from '../loop/run.state.js';
import type { Step } from '../loop/step.js';
import { inputHashOf } from '../tools/input.hash.js';
import type { RunStep } from './run.step.js';

/** The steps of a run of the loop. Steps of other agents are left out. */
export function toLoopSteps(steps: readonly RunStep[]): Step[] {
  return steps.flatMap((step): Step[] => {
    switch (step.type) {
      case 'message':
        return [{ type: 'message-received', messages: [toUserMessage(step)] }];
      case 'agent-called':
      case 'tool-call':
      case 'tool-result':
      case 'finished':
        return [];
      default:
        return [step];
    }
  });
}

/** The calls of the loop that were in progress when the run was interrupted, and that must not be repeated without a decision. */
export function interruptedCalls({ openSteps }: RunState): PendingApproval[] {
  const unclear = openCalls(openSteps).filter(({ called, result }) => called && !called.idempotent && !result);
  return unclear.map(({ call: { id, name, input } }) => ({
    callId: id,
    tool: name,
    input,
    inputHash: inputHashOf(input),
  }));
}
