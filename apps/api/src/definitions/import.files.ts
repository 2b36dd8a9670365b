import { plainToInstance } from 'class-transformer';
import type { FieldError } from '../http/problems/api.error.js';
import { ArchiveBody, type ArchivedFile } from '../http/body/archive-body.parser.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { validated } from '../http/validation/validation.pipe.js';
import { ImportBody, MAX_FILES, MAX_PATH_LENGTH } from './definition-imports.dto.js';

/** The files of an import, from JSON or from an archive. */
export function importFilesOf(body: unknown): readonly ArchivedFile[] {
  const { files: given } = body instanceof ArchiveBody ? body : validated(plainToInstance(ImportBody, body ?? {}));
  // tar and find write a.md as ./a.md
  const files = given.map(({ path, content }) => ({ path: path.replace(/^(?:\.\/)+/, ''), content }));
  const errors = pathErrors(files);
  if (files.length > MAX_FILES)
    errors.push({ field: 'files', message: `files must have at most ${MAX_FILES} elements` });
  if (errors.length > 0) throw validationFailed(errors);
  return files;
}

function pathErrors(files: readonly ArchivedFile[]): FieldError[] {
  const seen = new Set<string>();
  return files.flatMap(({ path }, index) => {
    const field = `files.${index}.path`;
    const isDuplicate = seen.has(path);
    seen.add(path);
    if (isDuplicate) return [{ field, message: `${field} is also the path of an earlier file` }];
    return isRelativePath(path)
      ? []
      : [{ field, message: `${field} must be a relative path such as team/a.md, without .. and \\` }];
  });
}

function isRelativePath(path: string): boolean {
  if (path.length > MAX_PATH_LENGTH || path.includes('\\') || path.includes('\0')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
