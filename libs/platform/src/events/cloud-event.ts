import type { EventType, RegistryEvent } from './event.js';

/**
 * An event in the JSON format of CloudEvents 1.0. `sequence` (the number in the log, as a string), `namespace` and
 * `capabilities` are extension attributes.
 */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: EventType;
  subject: string;
  /** The namespace of the subject; `*` if the event concerns no single namespace. */
  namespace: string;
  time: string;
  datacontenttype: 'application/json';
  sequence: string;
  /** The capabilities of the agent, separated by commas. */
  capabilities?: string;
  data: RegistryEvent['data'];
}

const SOURCE = 'urn:rollcall:registry';

export function toCloudEvent(event: RegistryEvent): CloudEvent {
  const { id, type, subject, namespace, at, seq, capabilities, data } = event;
  return {
    specversion: '1.0',
    id,
    source: SOURCE,
    type,
    subject,
    namespace,
    time: at.toISOString(),
    datacontenttype: 'application/json',
    sequence: String(seq),
    ...(capabilities.length > 0 && { capabilities: capabilities.join(',') }),
    data,
  };
}

const serialised = new WeakMap<RegistryEvent, string>();

/** All consumers receive the same text, so each event is serialised once. */
export function toCloudEventText(event: RegistryEvent): string {
  const cached = serialised.get(event);
  if (cached !== undefined) return cached;
  const text = JSON.stringify(toCloudEvent(event));
  serialised.set(event, text);
  return text;
}
