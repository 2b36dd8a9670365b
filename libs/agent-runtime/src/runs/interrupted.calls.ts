import { toUserMessage } from '../agents/message.mapper.js';
import { unclearCalls } from '../loop/open.turn.js';
import type { PendingApproval } from '../loop/run.outcome.js';
import { resume, type RunState } from '../loop/run.state.js';
import type { Step } from '../loop/step.js';
import { inputHashOf } from '../tools/input.hash.js';
import type { AgentStep, RunStep } from './run.step.js';

const AGENT_STEPS: ReadonlySet<string> = new Set<AgentStep['type']>([
  'agent-called',
  'tool-call',
  'tool-result',
  'finished',
]);

/** The steps of a run of the loop. Steps of other agents are left out. */
export function toLoopSteps(steps: readonly RunStep[]): Step[] {
  return steps.flatMap((step): Step[] => {
    if (step.type === 'message') return [{ type: 'message-received', messages: [toUserMessage(step)] }];
    return isLoopStep(step) ? [step] : [];
  });
}

function isLoopStep(step: Step | AgentStep): step is Step {
  return !AGENT_STEPS.has(step.type);
}

/** Whether a model call follows these steps. Such a call may have been in progress when the run was interrupted. */
export function isCallingModel(steps: readonly RunStep[]): boolean {
  return resume(toLoopSteps(steps)).openSteps.length === 0;
}

/** The calls of the loop that were in progress when the run was interrupted, and that must not be repeated without a decision. */
export function interruptedCalls({ openSteps }: RunState): PendingApproval[] {
  return unclearCalls(openSteps).map(({ call: { id, name, input } }) => ({
    callId: id,
    tool: name,
    input,
    inputHash: inputHashOf(input),
  }));
}
