import { textPart } from '#rollcall/providers';
import { inputHashOf } from '../tools/input.hash.js';
import type { Run } from './run.js';
import { NEEDS_REVIEW, type RunEnd } from './run.status.js';
import { lastMessage, type RunStep } from './run.step.js';

type CrashedRun = Pick<Run, 'id' | 'agentId' | 'crashesInStep'>;

/**
 * The end of an execution that is not attempted again without a decision, because replicas crashed in the same step. The decision is
 * about the call of the agent, as after an interrupted call of an external agent: its id is that of the run.
 */
export function crashReviewOf(
  { id: callId, agentId: tool, crashesInStep }: CrashedRun,
  steps: readonly RunStep[],
): RunEnd {
  const { parts: input } = lastMessage(steps);
  const detail = `${crashesInStep} replicas crashed or lost their lease in the same step of this run. Look for the cause in their logs, then approve or reject that the run continues from this step.`;
  const approvals = [{ callId, tool, input, inputHash: inputHashOf(input) }];
  return {
    state: 'waiting',
    waitingFor: 'needs_review',
    result: { parts: [], reason: NEEDS_REVIEW, detail, approvals },
  };
}

/**
 * How the decision about a crash ends the run; undefined if the run continues. Decisions about an interrupted call of an external agent
 * are applied by its call.
 */
export function decidedEnd({ id }: CrashedRun, steps: readonly RunStep[]): RunEnd | undefined {
  const last = steps.at(-1);
  if (steps.some(({ type }) => type === 'agent-called')) return undefined;
  if (last?.type === 'approval-decided' && last.callId === id && !last.approved) {
    const detail = `An operator decided that the run does not continue. ${last.reason ?? ''}`.trim();
    return { state: 'stopped', waitingFor: null, result: { parts: [], reason: 'rejected', detail } };
  }
  if (last?.type === 'tool-finished' && last.callId === id)
    return { state: 'completed', waitingFor: null, result: { parts: [textPart(last.output)] } };
  return undefined;
}
