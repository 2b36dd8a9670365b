import type { Artifact } from '@a2a-js/sdk';
import { dataOf, textOf } from './a2a.mapper.js';

interface Kept {
  text: string;
  data: unknown[];
}

/** What a task has made so far. An artifact comes in pieces, or anew as a whole, and often both: each counts once. */
export class Artifacts {
  private readonly kept = new Map<string, Kept>();

  /** Takes a piece of an artifact, or all of it, and gives the text that was not known before. */
  put(id: string, { parts }: Pick<Artifact, 'parts'>, append: boolean): string {
    const before = this.kept.get(id) ?? { text: '', data: [] };
    const [text, data] = [textOf(parts), dataOf(parts)];
    if (append) {
      this.kept.set(id, { text: before.text + text, data: [...before.data, ...data] });
      return text;
    }
    this.kept.set(id, { text, data });
    return text.startsWith(before.text) ? text.slice(before.text.length) : text;
  }

  get text(): string {
    return [...this.kept.values()].map(({ text }) => text).join('');
  }

  get data(): unknown[] {
    return [...this.kept.values()].flatMap(({ data }) => data);
  }
}
