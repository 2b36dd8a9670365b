import { Inject, Injectable, type OnApplicationBootstrap, Optional } from '@nestjs/common';
import { DEFAULT_NAMESPACE, EventFeed, EventLog, Periodic, type RegistryEvent } from '#rollcall/platform';
import { TerminalSummary } from './terminal.summary.js';

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
