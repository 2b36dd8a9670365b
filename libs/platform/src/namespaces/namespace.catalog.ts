import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Periodic } from '../work/periodic.js';
import { type NamespaceLimits, NO_LIMITS } from './namespace.js';
import { type NamespaceRow, NamespaceStore } from './namespace.store.js';

const REFRESH_EVERY_MS = 2_000;

/**
 * The namespaces and their limits in memory, for decisions about every request. A namespace that another replica created is found by a
 * look-up; its new limits and its deletion are applied within two seconds. While the database is unavailable, the last state is used.
 */
@Injectable()
export class NamespaceCatalog implements OnApplicationBootstrap {
  private limits = new Map<string, NamespaceLimits>();

  constructor(private readonly store: NamespaceStore) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.refresh();
  }

  @Periodic('namespaces.refresh', REFRESH_EVERY_MS)
  async refresh(): Promise<void> {
    const rows = await this.store.findAll();
    this.limits = new Map(rows.map(({ name, limits }) => [name, { ...NO_LIMITS, ...limits }]));
  }

  has(name: string): boolean {
    return this.limits.has(name);
  }

  /** Reads the namespace from the database. Returns whether it exists. */
  async lookUp(name: string): Promise<boolean> {
    const row = await this.store.find(name);
    if (row) this.put(row);
    return row !== undefined;
  }

  limitsOf(name: string): NamespaceLimits {
    return this.limits.get(name) ?? NO_LIMITS;
  }

  /** Applies a change of this replica immediately. */
  put({ name, limits }: Pick<NamespaceRow, 'name' | 'limits'>): void {
    this.limits.set(name, { ...NO_LIMITS, ...limits });
  }

  remove(name: string): void {
    this.limits.delete(name);
  }
}
