import { setTimeout as delay } from 'node:timers/promises';
import { option, type Session } from '../command.js';
import { tableText, type View } from '../output/view.js';

/** Options of commands that list items. */
export const LIST_OPTIONS = {
  limit: option.number('COUNT', 'At most this many items (default 100; 0 for all).'),
} as const;
export const WATCH_OPTION = {
  watch: option.flag('Continue, and show what changes until Ctrl-C.', { short: 'w' }),
} as const;

const DEFAULT_LIMIT = 100;
const POLL_MS = 1_000;

interface ListOptions {
  readonly limit: number | undefined;
  readonly watch?: boolean;
}

/** Prints a list that the server returns in pages. */
export async function printList<Item>(
  session: Session,
  view: View<Item>,
  read: () => AsyncIterable<Item>,
  { limit = DEFAULT_LIMIT, watch = false }: ListOptions,
): Promise<void> {
  const most = limit === 0 ? Infinity : limit;
  if (watch) return await watchList(session, view, async () => (await take(read(), most)).items);
  const { items, hasMore } = await take(read(), most);
  await session.output.list(view, items);
  if (hasMore) session.output.note(`There are more than ${most} ${view.plural}. Use --limit 0 for all.`);
}

async function take<Item>(source: AsyncIterable<Item>, most: number): Promise<{ items: Item[]; hasMore: boolean }> {
  const items: Item[] = [];
  for await (const item of source) {
    if (items.length === most) return { items, hasMore: true };
    items.push(item);
  }
  return { items, hasMore: false };
}

/** On a terminal, the table is drawn again after each change. Otherwise, each item is printed when it is new or has changed. */
async function watchList<Item>(session: Session, view: View<Item>, read: () => Promise<Item[]>): Promise<void> {
  const { output, io } = session;
  if (output.isText && io.stdout.isTTY === true) {
    let shown = '';
    for await (const items of polled(io.signal, read)) {
      const table = items.length === 0 ? `No ${view.plural}.\n` : tableText(view, items, output.layout);
      if (table !== shown) io.stdout.write(`\u001b[H\u001b[2J${table}`);
      shown = table;
    }
    return;
  }
  await output.stream(view, changedItems(polled(io.signal, read), view));
}

async function* polled<Item>(signal: AbortSignal, read: () => Promise<Item[]>): AsyncGenerator<Item[], void> {
  for (;;) {
    yield await read();
    await delay(POLL_MS, undefined, { signal });
  }
}

async function* changedItems<Item>(lists: AsyncIterable<Item[]>, { name }: View<Item>): AsyncGenerator<Item, void> {
  const known = new Map<string, string>();
  for await (const items of lists)
    for (const item of items) {
      const text = JSON.stringify(item);
      if (known.get(name(item)) !== text) yield item;
      known.set(name(item), text);
    }
}
