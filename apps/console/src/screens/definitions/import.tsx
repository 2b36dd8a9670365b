import { useMutation } from '@tanstack/react-query';
import { FileUp } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import type { ImportReportView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain } from '../../parts/format.js';
import { Tag, type Tone } from '../../parts/parts.js';
import { Empty, Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { type ChosenFiles, chosenFiles, droppedFiles } from './spec-files.js';

type ImportedFile = ImportReportView['files'][number];

interface Checked extends ChosenFiles {
  readonly report: ImportReportView;
}

/** Files are checked when they are dropped, which changes nothing, and then imported. */
export function Import(): ReactNode {
  const { api } = useCaller();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const [checked, setChecked] = useState<Checked>();
  const check = useMutation({
    mutationFn: async (choosing: Promise<ChosenFiles>) => {
      setChecked(undefined);
      const chosen = await choosing;
      if (chosen.files.length === 0)
        throw new Error('None of these files is a spec file: their names end in .md or .json.');
      const report = await api.definitions.import({ files: [...chosen.files], dryRun: true });
      setChecked({ ...chosen, report });
    },
  });
  return (
    <section
      className={`card drop ${isOver ? 'over' : ''}`}
      aria-labelledby="import"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        check.mutate(droppedFiles(event.dataTransfer));
      }}
    >
      <header>
        <h2 id="import">Import spec files</h2>
        <small>.md with front matter, or .json; checked first, nothing changes before you confirm</small>
      </header>
      <div className="drop-here">
        <FileUp size={20} aria-hidden="true" />
        <span>Drop files or a folder here, or</span>
        <button className="button" type="button" onClick={() => input.current?.click()}>
          Choose files…
        </button>
        <input
          ref={input}
          className="visually-hidden"
          type="file"
          multiple
          accept=".md,.json"
          aria-label="Spec files"
          tabIndex={-1}
          onChange={({ target }) => {
            if (target.files && target.files.length > 0) check.mutate(chosenFiles(target.files));
            target.value = '';
          }}
        />
      </div>
      {check.error && <Problem error={check.error} />}
      {checked && <Report checked={checked} onClose={() => setChecked(undefined)} onDone={setChecked} />}
    </section>
  );
}

interface ReportProps {
  checked: Checked;
  onClose: () => void;
  onDone: (checked: Checked) => void;
}

function Report({ checked, onClose, onDone }: ReportProps): ReactNode {
  const { api } = useCaller();
  const { files, others, report } = checked;
  const changing = report.files
    .flatMap(({ definitions }) => definitions)
    .filter(({ change }) => change !== 'unchanged');
  const number = `${count(changing.length)} ${changing.length === 1 ? 'definition' : 'definitions'}`;
  return (
    <>
      <div className="chips" role="status">
        <span>
          {report.dryRun ? 'Checked' : 'Imported'}: {count(report.loaded)} {report.dryRun ? 'can be loaded' : 'loaded'}{' '}
          · {count(report.warned)} with warnings · {count(report.rejected)} rejected · {count(report.skipped + others)}{' '}
          skipped
        </span>
        <span className="space" />
        {report.dryRun && changing.length > 0 && (
          <Action
            label={`Import ${number}…`}
            tone="primary"
            title={`Import ${number}?`}
            verb={`Import ${number}`}
            hasNote={false}
            request={() => ({ method: 'POST', path: '/v1/definition-imports', body: { files } })}
            run={async (_note, idempotencyKey) => {
              onDone({ ...checked, report: await api.definitions.import({ files: [...files] }, { idempotencyKey }) });
            }}
          >
            <p>
              Definitions that exist get a new revision; rejected files are left out. Nothing is removed. To undo it,
              restore the earlier revisions, or remove what is new.
            </p>
          </Action>
        )}
        <button className="button" type="button" onClick={onClose}>
          Close
        </button>
      </div>
      {report.files.length === 0 && <Empty>No file was checked.</Empty>}
      <ul className="plain-list">
        {report.files.map((file) => (
          <li className="import-file" key={file.path}>
            <FileResult file={file} isDryRun={report.dryRun} />
          </li>
        ))}
      </ul>
    </>
  );
}

function resultOf({ errors, warnings, definitions, skipped }: ImportedFile): { word: string; tone: Tone } {
  if (errors.length > 0) return { word: 'rejected', tone: 'bad' };
  if (skipped !== undefined) return { word: 'skipped', tone: 'off' };
  if (warnings.length > 0) return { word: 'with warnings', tone: 'warn' };
  if (definitions.every(({ change }) => change === 'unchanged')) return { word: 'unchanged', tone: 'off' };
  return { word: 'good', tone: 'good' };
}

const CHANGES: Record<ImportedFile['definitions'][number]['change'], [now: string, dryRun: string]> = {
  registered: ['registered', 'would be registered'],
  replaced: ['has a new revision', 'would get a new revision'],
  unchanged: ['is unchanged', 'is unchanged'],
};

function FileResult({ file, isDryRun }: { file: ImportedFile; isDryRun: boolean }): ReactNode {
  const { word, tone } = resultOf(file);
  return (
    <>
      <Tag tone={tone}>{word}</Tag>
      <div>
        <b className="mono">{plain(file.path)}</b>
        {file.skipped !== undefined && <p className="muted">{plain(file.skipped)}</p>}
        {file.definitions.map(({ name, change }) => (
          <p key={name}>
            <b>{plain(name)}</b> <span className="muted">{CHANGES[change][isDryRun ? 1 : 0]}</span>
          </p>
        ))}
        {[...file.errors, ...file.warnings].map(({ line, message }, index) => (
          <p key={index} className={index < file.errors.length ? 'bad-text' : 'warn-text'}>
            line {count(line)}: {plain(message)}
          </p>
        ))}
      </div>
    </>
  );
}
