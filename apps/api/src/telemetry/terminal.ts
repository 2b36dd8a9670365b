import { Inject, Injectable, type OnApplicationBootstrap, Optional } from '@nestjs/common';
import { DEFAULT_NAMESPACE, EventFeed, EventLog, Periodic, type RegistryEvent } from '#rollcall/platform';

/** How many different texts a line names. */
const MAX_NAMED = 5;

/**
 * Collects events and writes them as one line for each kind of event, so that a terminal stays readable at any rate:
 * `agent.joined builder-01, builder-02 and 498 more`.
 */
export class TerminalSummary {
  private readonly kinds = new Map<string, Map<string, number>>();

  constructor(private readonly write: (kind: string, text: string) => void) {}

  add(kind: string, text: string): void {
    const texts = this.kinds.get(kind) ?? new Map<string, number>();
    texts.set(text, (texts.get(text) ?? 0) + 1);
    this.kinds.set(kind, texts);
  }

  /** Writes what was added since the last call. */
  flush(): void {
    for (const [kind, texts] of this.kinds) {
      const shown = [...texts].slice(0, MAX_NAMED).map(([text, count]) => (count > 1 ? `${text} ×${count}` : text));
      const more = texts.size > MAX_NAMED ? ` and ${texts.size - MAX_NAMED} more` : '';
      this.write(kind, shown.join(', ') + more);
    }
    this.kinds.clear();
  }
}

const FLUSH_MS = 1_000;
/** Events of these types are shown, except updates of agents, which are frequent and rarely of interest. */
const SHOWN = /^(agent|circuit|protection|run|contract)\.|^budget\.exhausted$/;
const HIDDEN = new Set(['agent.updated']);

/** Shows on a terminal what happens in the registry. Without a terminal, the event log and the metrics have this information. */
@Injectable()
export class TerminalEvents implements OnApplicationBootstrap {
  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    @Optional() @Inject(TerminalSummary) private readonly summary?: TerminalSummary,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.summary) await this.follow();
  }

  @Periodic('terminal.summary', FLUSH_MS)
  flush(): void {
    this.summary?.flush();
  }

  private async follow(): Promise<void> {
    const { seq } = await this.log.end();
    this.feed.subscribe(seq, {
      accept: (events) => {
        for (const event of events) if (isShown(event)) this.summary?.add(event.type, textOf(event));
      },
      expired: () => void this.follow().catch(() => undefined), // only the terminal misses events
    });
  }
}

function isShown({ type }: RegistryEvent): boolean {
  return SHOWN.test(type) && !HIDDEN.has(type);
}

function textOf({ namespace, subject, data }: RegistryEvent): string {
  const name = namespace === DEFAULT_NAMESPACE || namespace === '*' ? subject : `${namespace}/${subject}`;
  const { reason } = data as { reason?: unknown };
  return typeof reason === 'string' ? `${name} (${reason.slice(0, 80)})` : name;
}
