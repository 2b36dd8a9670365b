import { isDetached, ProviderError } from '#rollcall/providers';
import { DeadlineReached } from '../loop/run.activity.js';

/** Why a delegated run was ended before it had a result. */
type EndedBy = 'parent' | 'sibling' | 'deadline';

const MAX_TIMER_MS = 2 ** 31 - 1;

/** The signal of one delegated run: aborted with its parent run, by a failed sibling, and at its deadline. */
export class ChildScope {
  endedBy?: EndedBy;
  private readonly controller = new AbortController();
  private readonly timer?: NodeJS.Timeout;

  constructor(
    private readonly parent: AbortSignal,
    private readonly siblings: AbortSignal | undefined,
    remainingMs: number,
  ) {
    parent.addEventListener('abort', this.onParent, { once: true });
    siblings?.addEventListener('abort', this.onSibling, { once: true });
    if (parent.aborted) this.onParent();
    else if (siblings?.aborted) this.onSibling();
    if (remainingMs <= MAX_TIMER_MS) this.timer = setTimeout(() => this.end('deadline'), Math.max(0, remainingMs));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  close(): void {
    clearTimeout(this.timer);
    this.parent.removeEventListener('abort', this.onParent);
    this.siblings?.removeEventListener('abort', this.onSibling);
  }

  private readonly onParent = (): void => this.end(isDeadline(this.parent) ? 'deadline' : 'parent');
  private readonly onSibling = (): void => this.end('sibling');

  private end(by: EndedBy): void {
    this.endedBy ??= by;
    this.controller.abort(by === 'deadline' ? new DeadlineReached() : this.reasonOf(by));
  }

  /** The parent states why it ends its calls if it was not cancelled: its agent was shut down, or another replica continues the run. */
  private reasonOf(by: EndedBy): ProviderError {
    const { reason } = this.parent;
    const isStated = reason instanceof ProviderError && (reason.code !== 'CALL_ABORTED' || isDetached(this.parent));
    if (by === 'parent' && isStated) return reason;
    return new ProviderError('CALL_ABORTED', 'The delegated run was cancelled.');
  }
}

/** Whether the signal was aborted because a deadline has passed. */
export function isDeadline({ reason }: AbortSignal): boolean {
  return reason instanceof DeadlineReached;
}
