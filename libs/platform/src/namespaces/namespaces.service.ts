import { Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { Database } from '../postgres/database.js';
import { NamespaceCatalog } from './namespace.catalog.js';
import { NamespaceContents } from './namespace.contents.js';
import { DEFAULT_NAMESPACE, NamespaceNotFoundError } from './namespace.js';
import { type NamespaceFields, type NamespaceRow, NamespaceStore } from './namespace.store.js';

/** A namespace with the number of its objects of each kind. */
export interface DescribedNamespace {
  row: NamespaceRow;
  use: Readonly<Record<string, number>>;
}

class NamespaceExistsError extends PlatformError {
  readonly code = 'NAMESPACE_EXISTS';

  constructor(name: string, wasDeleted: boolean) {
    const reason = wasDeleted
      ? 'existed and was deleted; its name cannot be used again, because its history remains'
      : 'exists';
    super(`The namespace "${name}" ${reason}. Choose another name.`);
  }
}

class NamespaceNotEmptyError extends PlatformError {
  readonly code = 'NAMESPACE_NOT_EMPTY';
  override readonly details: Record<string, unknown>;

  constructor(name: string, use: Readonly<Record<string, number>>) {
    const contents = Object.entries(use).filter(([, count]) => count > 0);
    const text = contents.map(([kind, count]) => `${kind} (${count})`).join(', ');
    super(`The namespace "${name}" is not empty: it contains ${text}. Remove them, or wait until they have ended.`);
    this.details = { contains: Object.fromEntries(contents) };
  }
}

class NamespacePermanentError extends PlatformError {
  readonly code = 'NAMESPACE_PERMANENT';

  constructor(name: string) {
    super(`The namespace "${name}" exists in every installation and cannot be deleted.`);
  }
}

/** Creates, describes and deletes namespaces. */
@Injectable()
export class NamespacesService {
  constructor(
    private readonly db: Database,
    private readonly store: NamespaceStore,
    private readonly catalog: NamespaceCatalog,
    private readonly contents: NamespaceContents,
  ) {}

  async create(name: string, fields: NamespaceFields, by: string): Promise<DescribedNamespace> {
    const row = await this.store.insert(name, fields, by);
    if (!row) throw new NamespaceExistsError(name, (await this.store.find(name)) === undefined);
    this.db.afterCommit(() => this.catalog.put(row));
    return await this.describe(row);
  }

  async list(limit: number, after: string | undefined): Promise<NamespaceRow[]> {
    return await this.store.page(limit, after);
  }

  async get(name: string): Promise<DescribedNamespace> {
    const row = await this.store.find(name);
    if (!row) throw new NamespaceNotFoundError(name);
    return await this.describe(row);
  }

  async update(name: string, changes: Partial<NamespaceFields>): Promise<DescribedNamespace> {
    const row = await this.store.update(name, changes);
    if (!row) throw new NamespaceNotFoundError(name);
    this.db.afterCommit(() => this.catalog.put(row));
    return await this.describe(row);
  }

  /**
   * Only an empty namespace can be deleted. If agents, definitions, runs, keys, webhooks, budgets or reservations are created in it at
   * the same time, their creation waits for the deletion and is then rejected.
   */
  async delete(name: string): Promise<void> {
    if (name === DEFAULT_NAMESPACE) throw new NamespacePermanentError(name);
    await this.db.transaction(async () => {
      if (!(await this.store.lock(name))) throw new NamespaceNotFoundError(name);
      const contents = await this.contents.removable(name);
      if (Object.values(contents).some((count) => count > 0)) throw new NamespaceNotEmptyError(name, contents);
      await this.store.markDeleted(name);
      this.db.afterCommit(() => this.catalog.remove(name));
    });
  }

  private async describe(row: NamespaceRow): Promise<DescribedNamespace> {
    return { row, use: await this.contents.use(row.name) };
  }
}
