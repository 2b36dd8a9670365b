import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type CloudEventView, eventName, type EventName } from '#rollcall/client';
import { count } from '../../parts/format.js';
import { Ago, Json, Tag, type Tone } from '../../parts/parts.js';
import { eventSubject, eventText } from '../event-text.js';

const TONES: Partial<Record<EventName, Tone>> = {
  'agent.joined': 'good',
  'agent.recovered': 'good',
  'agent.resumed': 'good',
  'agent.suspect': 'warn',
  'agent.quarantined': 'bad',
  'circuit.opened': 'bad',
  'circuit.half_opened': 'warn',
  'circuit.closed': 'good',
  'budget.low': 'warn',
  'budget.exhausted': 'bad',
  'budget.replenished': 'good',
  'protection.entered': 'bad',
  'protection.left': 'good',
  'run.waiting': 'warn',
  'contract.lapsed': 'warn',
  'contract.expired': 'bad',
  'registry.clock_stepped_back': 'bad',
  'event.expired': 'warn',
};

/** Events, the newest first. Each opens to its exact facts. */
export function EventList({ events }: { events: readonly CloudEventView[] }): ReactNode {
  return (
    <ul className="plain-list event-list">
      {events.map((event) => (
        <li key={event.id}>
          <details>
            <summary>
              <Ago at={event.time} />
              <Tag tone={TONES[eventName(event)] ?? 'off'}>{eventName(event).split('.', 1)[0]}</Tag>
              <b>{eventText(event)}</b>
              <span className="muted event-subject">{eventSubject(event)}</span>
              <span className="muted number secondary" title="sequence">
                {count(Number(event.sequence))}
              </span>
            </summary>
            <div className="event-facts">
              <About event={event} />
              <Json value={event} />
            </div>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** A link to the object of the event, if there is a page for it. */
function About({ event }: { event: CloudEventView }): ReactNode {
  const [kind] = eventName(event).split('.', 1);
  const { agentId } = event.data as { agentId?: unknown };
  if (kind === 'run')
    return (
      <Link to="/runs/$runId" params={{ runId: event.subject }} className="action-link">
        open the run
      </Link>
    );
  if (kind === 'contract')
    return (
      <Link to="/contracts/$contractId" params={{ contractId: event.subject }} className="action-link">
        open the contract
      </Link>
    );
  if (kind === 'definition')
    return (
      <Link to="/definitions/$name" params={{ name: event.subject }} className="action-link">
        open the definition
      </Link>
    );
  const id = kind === 'agent' || kind === 'circuit' ? event.subject : agentId;
  if (typeof id !== 'string') return null;
  return (
    <Link to="/agents/$agentId" params={{ agentId: id }} className="action-link">
      open the agent
    </Link>
  );
}
