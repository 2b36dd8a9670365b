import { type EventType, formatCursor, type RegistryEvent } from '#rollcall/platform';

/** An event as CloudEvents 1.0 say it in JSON. `sequence` is its place in the log; by their rules a number of that size is text. */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: EventType;
  subject: string;
  time: string;
  datacontenttype: 'application/json';
  sequence: string;
  /** Separated by commas. */
  capabilities?: string;
  data: RegistryEvent['data'];
}

const SOURCE = 'urn:rollcall:registry';

export function toCloudEvent(event: RegistryEvent): CloudEvent {
  const { id, type, subject, at, seq, capabilities, data } = event;
  return {
    specversion: '1.0',
    id,
    source: SOURCE,
    type,
    subject,
    time: at.toISOString(),
    datacontenttype: 'application/json',
    sequence: String(seq),
    ...(capabilities.length > 0 && { capabilities: capabilities.join(',') }),
    data,
  };
}

const written = new WeakMap<RegistryEvent, string>();
const framed = new WeakMap<RegistryEvent, { length: number; epoch: string; frame: Buffer }>();

/** The same text goes to every consumer, so it is made once. */
export function toCloudEventText(event: RegistryEvent): string {
  const known = written.get(event);
  if (known !== undefined) return known;
  const text = JSON.stringify(toCloudEvent(event));
  written.set(event, text);
  return text;
}

/** A WebSocket frame of events, with the cursor after the last of them. Consumers that want everything get the very same one. */
export function toFrame(events: readonly RegistryEvent[], epoch: string): Buffer {
  const [first] = events;
  const known = first && framed.get(first);
  if (known?.length === events.length && known.epoch === epoch && isUnbroken(events)) return known.frame;
  const cursor = formatCursor({ seq: events.at(-1)?.seq ?? 0, epoch });
  const list = events.map(toCloudEventText).join(',');
  const frame = Buffer.from(`{"event":"events","data":[${list}],"cursor":"${cursor}"}`);
  if (first && isUnbroken(events)) framed.set(first, { length: events.length, epoch, frame });
  return frame;
}

/** Then its first event and its length say all about it. */
function isUnbroken(events: readonly RegistryEvent[]): boolean {
  return (events.at(-1)?.seq ?? 0) - (events[0]?.seq ?? 0) === events.length - 1;
}
