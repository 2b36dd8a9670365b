import { type CloudEventView, eventName, type EventName } from '#rollcall/client';
import { plain, words } from '../parts/format.js';

const TEXTS: Partial<Record<EventName, string>> = {
  'agent.joined': 'Agent joined',
  'agent.left': 'Agent left',
  'agent.suspect': 'Agent is suspect',
  'agent.recovered': 'Agent recovered',
  'agent.draining': 'Agent is draining',
  'agent.quarantined': 'Agent quarantined',
  'agent.resumed': 'Agent resumed',
  'agent.updated': 'Agent updated',
  'circuit.opened': 'Circuit opened',
  'circuit.half_opened': 'Circuit admits a probe',
  'circuit.closed': 'Circuit closed',
  'budget.low': 'Budget is low',
  'budget.exhausted': 'Budget exhausted',
  'budget.replenished': 'Budget replenished',
};

/** Words before codes; an event without words has its name. */
export function eventText(event: CloudEventView): string {
  const name = eventName(event);
  const [kind = '', what = ''] = name.split('.');
  return TEXTS[name] ?? `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${words(what)}`;
}

/** What the event is about, and why, if it says so. */
export function eventSubject(event: CloudEventView): string {
  const data = event.data as { reason?: unknown; agentId?: unknown; of?: unknown };
  const name = [data.agentId, data.of].find((value) => typeof value === 'string');
  const reason = typeof data.reason === 'string' ? `, ${words(data.reason)}` : '';
  return plain(`${typeof name === 'string' ? name : event.subject}${reason}`);
}
