import { Injectable } from '@nestjs/common';

/** Returns those of these qualified agentIds that belong to something other than a registered agent. */
export type ReservedNameSource = (agentIds: readonly string[]) => Promise<readonly string[]>;

/**
 * The names that a registration cannot use without permission, such as the names of definitions (S-1). Other libraries add sources: the
 * registry does not know what the names stand for.
 */
@Injectable()
export class ReservedNames {
  private readonly sources: ReservedNameSource[] = [];

  add(source: ReservedNameSource): void {
    this.sources.push(source);
  }

  async among(agentIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (agentIds.length === 0) return new Set();
    const found = await Promise.all(this.sources.map(async (source) => await source(agentIds)));
    return new Set(found.flat());
  }
}
