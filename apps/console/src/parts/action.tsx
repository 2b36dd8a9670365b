import { Dialog } from '@base-ui/react/dialog';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Commands, type ShownRequest } from './commands.js';
import { Problem } from './states.js';

interface ActionProps {
  /** The text of the button that opens the dialog. */
  label: string;
  tone?: 'primary' | 'danger';
  title: string;
  /** What will happen, to how many, and how to undo it. */
  children: ReactNode;
  /** The text of the button that does it. */
  verb: string;
  hasNote?: boolean;
  /** Whether nothing happens without a note. */
  needsNote?: boolean;
  /** Whether what the dialog asks for is complete. */
  isReady?: boolean;
  onOpen?: () => void;
  disabled?: boolean;
  request: (note: string) => ShownRequest;
  run: (note: string, idempotencyKey: string) => Promise<unknown>;
}

/** A button with a dialog, for something that changes. All repetitions of the action have the same Idempotency-Key. */
export function Action(props: ActionProps): ReactNode {
  const { label, tone, title, children, verb, hasNote = true, disabled = false, request, run } = props;
  const { needsNote = false, isReady = true, onOpen } = props;
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState('');
  const key = useRef(crypto.randomUUID());
  const noteId = useId();
  const queries = useQueryClient();
  const action = useMutation({
    mutationFn: async () => await run(note.trim(), key.current),
    onSuccess: async () => {
      setOpen(false);
      await queries.invalidateQueries();
    },
  });
  const change = (next: boolean): void => {
    if (next) {
      key.current = crypto.randomUUID();
      setNote('');
      action.reset();
      onOpen?.();
    }
    setOpen(next);
  };
  const calledBy = useRouterState({
    select: ({ location: { state } }) => (state.open === label ? state.__TSR_key : undefined),
  });
  useEffect(() => {
    if (calledBy !== undefined && !disabled) change(true);
    // only a call opens the dialog, and not a new function
  }, [calledBy, disabled]);
  return (
    <Dialog.Root open={isOpen} onOpenChange={change}>
      <Dialog.Trigger className={`button ${tone ?? ''}`} disabled={disabled}>
        {label}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-back" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <div>{children}</div>
          {hasNote && (
            <label htmlFor={noteId}>
              Note for the history
              <input
                id={noteId}
                className="field"
                value={note}
                maxLength={500}
                onChange={({ target }) => setNote(target.value)}
              />
            </label>
          )}
          <Commands request={request(note.trim())} />
          {action.error && <Problem error={action.error} />}
          <div className="buttons">
            <button
              className={`button ${tone === 'danger' ? 'danger' : 'primary'}`}
              type="button"
              disabled={action.isPending || !isReady || (needsNote && note.trim() === '')}
              onClick={() => action.mutate()}
            >
              {verb}
            </button>
            <Dialog.Close className="button">Cancel</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
