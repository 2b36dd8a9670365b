import { Injectable } from '@nestjs/common';
import { type DefinitionFault, DefinitionInvalidError } from '../definition.errors.js';
import { DefinitionValidator } from '../definition.validator.js';
import type { SpecOptions } from './spec.js';
import type { LoadedSpec, SpecDiagnostic, SpecReport } from './spec.loader.js';

/** Checks specs against the tools, skills, models and providers of this deployment. */
@Injectable()
export class SpecValidator {
  constructor(private readonly validator: DefinitionValidator) {}

  /** Returns options with which the parser reports each unknown name with its line. */
  optionsFor(namespace: string, strict = false): SpecOptions {
    const { tools, models, skills } = this.validator.known(namespace);
    return { strict, knownTools: tools.tools, offTools: tools.off, knownModels: models, knownSkills: skills };
  }

  /** A spec that is not valid moves from `loaded` to `rejected`. With `strict`, a warning makes it invalid. */
  async check(report: SpecReport, namespace: string, strict = false): Promise<SpecReport> {
    const warned: SpecDiagnostic[] = [...report.warned];
    const rejected: SpecDiagnostic[] = [...report.rejected];
    const loaded: LoadedSpec[] = [];
    for (const spec of report.loaded) {
      const found = await this.validate(spec.content, namespace, strict);
      warned.push(...found.warnings.map((fault) => toDiagnostic(spec, fault)));
      rejected.push(...found.errors.map((fault) => toDiagnostic(spec, fault)));
      if (found.content) loaded.push({ ...spec, content: found.content });
    }
    return { ...report, loaded, warned, rejected };
  }

  private async validate(given: LoadedSpec['content'], namespace: string, strict: boolean): Promise<CheckedContent> {
    try {
      if (strict) return { content: await this.validator.strict(given, namespace), warnings: [], errors: [] };
      const { content, warnings } = await this.validator.lenient(given, namespace);
      return { content, warnings, errors: [] };
    } catch (error) {
      if (!(error instanceof DefinitionInvalidError)) throw error;
      return { warnings: [], errors: error.problems };
    }
  }
}

interface CheckedContent {
  readonly content?: LoadedSpec['content'];
  readonly warnings: readonly DefinitionFault[];
  readonly errors: readonly DefinitionFault[];
}

/** A problem of a field without a key in the file, such as a default, is reported at the line of the name. */
function toDiagnostic({ file, line, lines }: LoadedSpec, { field, message }: DefinitionFault): SpecDiagnostic {
  const [key = ''] = field.split('.');
  const keyLine = lines.get(key) ?? (key === 'maxIterations' ? lines.get('maxTurns') : undefined);
  return { file, line: keyLine ?? line, message: message.endsWith('.') ? message : `${message}.` };
}
