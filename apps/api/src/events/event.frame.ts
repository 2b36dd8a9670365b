import { formatCursor, type RegistryEvent, toCloudEventText } from '#rollcall/platform';

interface CachedFrame {
  events: readonly RegistryEvent[];
  epoch: string;
  frame: Buffer;
}

/** The key is the first event of the frame. */
const framed = new WeakMap<RegistryEvent, CachedFrame>();

/** A WebSocket frame of events, with the cursor after the last one. Consumers that get the same events share one frame. */
export function toFrame(events: readonly RegistryEvent[], epoch: string): Buffer {
  const [first] = events;
  const known = first && framed.get(first);
  if (known && known.epoch === epoch && hasSame(known.events, events)) return known.frame;
  const cursor = formatCursor({ seq: events.at(-1)?.seq ?? 0, epoch });
  const list = events.map(toCloudEventText).join(',');
  const frame = Buffer.from(`{"event":"events","data":[${list}],"cursor":"${cursor}"}`);
  if (first) framed.set(first, { events, epoch, frame });
  return frame;
}

function hasSame(one: readonly RegistryEvent[], two: readonly RegistryEvent[]): boolean {
  return one.length === two.length && one.every((event, index) => event === two[index]);
}
