/** How many different texts a line names. */
const SHOWN = 5;

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
      const shown = [...texts].slice(0, SHOWN).map(([text, count]) => (count > 1 ? `${text} ×${count}` : text));
      const more = texts.size > SHOWN ? ` and ${texts.size - SHOWN} more` : '';
      this.write(kind, shown.join(', ') + more);
    }
    this.kinds.clear();
  }
}
