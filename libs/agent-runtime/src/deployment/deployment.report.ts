import { Logger } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import type { SpecReport } from '../spec-files/spec.loader.js';
import type { TakenName } from './deployment.plan.js';
import type { DeploymentResult } from './deployment.service.js';

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** Logs what a start or a change of files did to the definitions. */
export class DeploymentReport {
  private readonly logger = new Logger('definitions');

  log(result: DeploymentResult, { warned, rejected, skipped }: SpecReport): void {
    for (const { file, line, message } of warned) this.warn('definitions.file_warning', `${file}:${line}: ${message}`);
    for (const { file, line, message } of rejected)
      this.warn('definitions.file_rejected', `${file}:${line}: ${message}`);
    this.logConflicts(result);
    const { added, replaced, removed, unchanged, taken } = result;
    this.logger.log({
      event: 'definitions.loaded',
      registered: added.map(idOf),
      replaced: replaced.map(idOf),
      unregistered: removed.map(idOf),
      unchanged: unchanged.length,
      taken: taken.map(({ wanted }) => idOf(wanted)),
      files: { warnings: warned.length, rejected: new Set(rejected.map(({ file }) => file)).size, skipped },
    });
  }

  private logConflicts({ taken, withoutNamespace, kept }: DeploymentResult): void {
    for (const { wanted, by } of taken)
      this.warn(
        'definitions.name_taken',
        `The definition ${idOf(wanted)} (source ${wanted.source}) is not registered: ${holderOf(by)} and restart, or choose another name.`,
      );
    for (const one of withoutNamespace)
      this.warn(
        'definitions.namespace_missing',
        `The definition ${idOf(one)} is not registered: there is no namespace ${one.namespace}. Create it with POST /v1/namespaces and restart.`,
      );
    if (kept.length > 0)
      this.warn(
        'definitions.kept',
        `These definitions of files are kept, because the folder does not exist or a file is rejected: ${kept.map(idOf).join(', ')}.`,
      );
  }

  private warn(event: string, message: string): void {
    this.logger.warn({ event, message });
  }
}

function holderOf(by: TakenName['by']): string {
  return by === 'agent'
    ? 'a live agent that was not built from this definition has the name. Shut the agent down'
    : `the name belongs to a definition of source ${by}. Remove that definition`;
}

function idOf({ namespace, name }: Key): string {
  return qualifiedId(namespace, name);
}
