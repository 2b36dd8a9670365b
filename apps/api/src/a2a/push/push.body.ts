import { A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import type { Run, RunStatus, WaitingFor } from '#rollcall/agent-runtime';
import type { RegistryEvent } from '#rollcall/platform';
import { statusUpdate, toTask } from '../tasks/task.mapper.js';

interface State {
  readonly state: RunStatus;
  readonly waitingFor: WaitingFor | null;
}

/** The state of a run after an event; undefined if the event does not change it. */
export function stateAfter(event: RegistryEvent): State | undefined {
  const { type, data } = event;
  if (type === 'run.queued') return { state: 'queued', waitingFor: null };
  if (type === 'run.started') return { state: 'running', waitingFor: null };
  if (type === 'run.waiting') return { state: 'waiting', waitingFor: data.waitingFor };
  if (type === 'run.finished') return { state: data.state, waitingFor: null };
  return type === 'run.cancelled' ? { state: 'cancelled', waitingFor: null } : undefined;
}

export function isEnd({ type }: RegistryEvent): boolean {
  return type === 'run.finished' || type === 'run.cancelled';
}

/**
 * The notification of an event: the whole task if the event ends the task, otherwise the new status. `run` may have changed since the
 * event; a question that has already been answered is left out.
 */
export function notificationOf(event: RegistryEvent, run: Run): StreamResponse | undefined {
  const after = stateAfter(event);
  if (!after) return undefined;
  if (isEnd(event)) return { payload: { $case: 'task', value: toTask(run, []) } };
  const isCurrent = run.state === after.state && run.waitingFor === after.waitingFor;
  return statusUpdate({ ...run, ...after, stateAt: event.at.toISOString(), result: isCurrent ? run.result : null });
}

/** In version 0.3, the body is the task or the update itself, without a wrapper. */
export function serialized(notification: StreamResponse, version: string): { contentType: string; body: string } {
  if (version === A2A_LEGACY_PROTOCOL_VERSION) return new V03PushNotificationSerializer().serialize(notification);
  return { contentType: A2A_CONTENT_TYPE, body: JSON.stringify(StreamResponse.toJSON(notification)) };
}
