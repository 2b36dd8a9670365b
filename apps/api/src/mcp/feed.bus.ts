import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { EventFeed, RegistryEvent } from '#rollcall/platform';
import { type Interest, noticesOf } from './change.notices.js';
import type { McpStream } from './mcp.stream.js';

type Listener = (event: ServerEvent) => void;

/**
 * Sends the changes of the event feed to one subscription. All replicas read the same log, so any replica can hold the stream. While
 * the client does not read, no events are read for it.
 */
export class FeedBus implements ServerEventBus {
  private stream?: McpStream;

  constructor(
    private readonly feed: EventFeed,
    private readonly after: number,
    private readonly interest: Interest,
  ) {}

  attach(stream: McpStream): void {
    this.stream = stream;
  }

  /** Does nothing, because all events come from the feed. */
  publish(): void {}

  subscribe(listener: Listener): () => void {
    const accept = (events: readonly RegistryEvent[]): boolean => {
      for (const notice of noticesOf(events, this.interest)) listener(notice);
      if (!this.stream?.isFull) return true;
      this.stream.onSpace(() => subscription.resume());
      return false;
    };
    const end = (): void => this.stream?.end();
    const filter = { namespaces: [this.interest.call.caller.namespace] };
    const subscription = this.feed.subscribe(this.after, { accept, expired: end, interrupted: end }, filter);
    return () => subscription.close();
  }
}
