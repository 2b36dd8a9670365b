import { Injectable } from '@nestjs/common';
import type { LimitedKind } from './namespace.js';

/** Objects of one kind that belong to a namespace. */
interface NamespaceContent {
  /** In the plural, for messages: "3 webhooks". */
  kind: LimitedKind | 'definitions' | 'runs' | 'reservations' | 'contracts' | 'eventsKept';
  /** Whether the objects remain after the deletion of the namespace. If not, they must be removed before the deletion. */
  remains?: boolean;
  count(namespace: string): Promise<number>;
}

/** What a namespace contains. Each library adds the objects it owns, so that the platform need not know them. */
@Injectable()
export class NamespaceContents {
  private readonly contents: NamespaceContent[] = [];

  add(content: NamespaceContent): void {
    this.contents.push(content);
  }

  async use(namespace: string): Promise<Record<string, number>> {
    return await countIn(namespace, this.contents);
  }

  /** What must be removed before the namespace can be deleted. */
  async removable(namespace: string): Promise<Record<string, number>> {
    return await countIn(
      namespace,
      this.contents.filter(({ remains }) => !remains),
    );
  }
}

async function countIn(namespace: string, contents: readonly NamespaceContent[]): Promise<Record<string, number>> {
  const counts = contents.map(async ({ kind, count }) => [kind, await count(namespace)] as const);
  return Object.fromEntries(await Promise.all(counts));
}
