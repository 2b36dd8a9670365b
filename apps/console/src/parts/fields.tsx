import { Select } from '@base-ui/react/select';
import { ChevronDown } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';

interface FieldProps {
  label: string;
  hint?: string;
  children: (id: string) => ReactNode;
}

/** A field of a form below its label. */
export function Field({ label, hint, children }: FieldProps): ReactNode {
  const id = useId();
  return (
    <div className="form-field">
      <label htmlFor={id}>
        {label}
        {hint !== undefined && <small>{hint}</small>}
      </label>
      {children(id)}
    </div>
  );
}

interface TextFieldProps<Value> {
  label: string;
  hint?: string;
  placeholder?: string;
  value: Value;
  /** The text of a value. */
  show: (value: Value) => string;
  /** The value of a text; undefined if the text is not valid. */
  read: (text: string) => Value | undefined;
  onChange: (value: Value) => void;
  type?: 'text' | 'search';
  inputMode?: 'text' | 'numeric' | 'decimal';
  /** The id of a list of proposals. */
  list?: string;
}

/** Keeps what somebody types, and reports each value that it stands for. A value from elsewhere replaces the text. */
export function TextField<Value>(props: TextFieldProps<Value>): ReactNode {
  const { label, hint, placeholder, value, show, read, onChange, type = 'text', inputMode = 'text', list } = props;
  const [text, setText] = useState(show(value));
  const meant = read(text);
  const isOwn = meant === undefined || show(meant) === show(value);
  const change = (next: string): void => {
    setText(next);
    const changed = read(next);
    if (changed !== undefined) onChange(changed);
  };
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
      {(id) => (
        <input
          id={id}
          className="field"
          type={type}
          list={list}
          inputMode={inputMode}
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          aria-invalid={meant === undefined}
          value={isOwn ? text : show(value)}
          onChange={({ target }) => change(target.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choices: readonly string[];
  /** Shown while nothing is chosen. */
  placeholder?: string;
  onChange: (value: string) => void;
}

export function Choice({ label, value, choices, placeholder, onChange }: ChoiceProps): ReactNode {
  return (
    <Field label={label}>
      {(id) => (
        <Select.Root value={value === '' ? null : value} onValueChange={(next) => onChange(next ?? value)}>
          <Select.Trigger id={id} className="field select wide" aria-label={label}>
            <Select.Value placeholder={placeholder} />
            <ChevronDown size={14} aria-hidden="true" />
          </Select.Trigger>
          <Select.Portal>
            <Select.Positioner className="menu-layer" sideOffset={4} alignItemWithTrigger={false}>
              <Select.Popup className="menu">
                {choices.map((choice) => (
                  <Select.Item key={choice} value={choice} className="menu-item">
                    <Select.ItemText>{choice}</Select.ItemText>
                  </Select.Item>
                ))}
              </Select.Popup>
            </Select.Positioner>
          </Select.Portal>
        </Select.Root>
      )}
    </Field>
  );
}

/** Parts of a list, separated by commas. */
export function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** A number that is not negative; an empty text means none. `null` is none, `undefined` is not a number. */
export function amountOf(text: string): number | null | undefined {
  const trimmed = text.replaceAll(/[,\s_]/g, '');
  if (trimmed === '') return null;
  const value = Number(trimmed);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
