import { formatCursor, type RegistryEvent, toCloudEventText } from '#rollcall/platform';

const framed = new WeakMap<RegistryEvent, { length: number; epoch: string; frame: Buffer }>();

/** A WebSocket frame of events, with the cursor after the last one. Consumers without a filter share one frame. */
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

/** Whether the list has no missing sequence numbers. Then its first event and its length identify it. */
function isUnbroken(events: readonly RegistryEvent[]): boolean {
  return (events.at(-1)?.seq ?? 0) - (events[0]?.seq ?? 0) === events.length - 1;
}
