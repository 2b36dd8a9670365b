import type { EventType, RegistryEvent } from './event.js';

/** The prefix of the types, which the specification of CloudEvents recommends (P-7). */
export const TYPE_PREFIX = 'dev.rollcall.';

/** The digits of a sequence, so that sequences have the same order as texts and as numbers. */
const SEQUENCE_DIGITS = 15;

/**
 * An event in the JSON format of CloudEvents 1.0. `sequence` (the number in the log, with leading zeros), `namespace` and
 * `capabilities` are extension attributes.
 */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: `${typeof TYPE_PREFIX}${EventType}`;
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
    type: `${TYPE_PREFIX}${type}`,
    subject,
    namespace,
    time: at.toISOString(),
    datacontenttype: 'application/json',
    sequence: String(seq).padStart(SEQUENCE_DIGITS, '0'),
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
