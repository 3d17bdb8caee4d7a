/** Fields of forms, with their labels and what is wrong with them. */

import { type InputHTMLAttributes, type ReactNode, useId, useState } from 'react';

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly note?: ReactNode;
  readonly problem?: string | undefined;
  /** Beside the field. */
  readonly after?: ReactNode;
}

export function Field({ label, note, problem, after, ...input }: FieldProps) {
  const id = useId();
  const says = problem ?? note;
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <span className={after ? 'field-row' : ''}>
        <input
          id={id}
          className="input"
          spellCheck={false}
          autoComplete="off"
          aria-invalid={problem !== undefined}
          aria-describedby={says ? `${id}-note` : undefined}
          {...input}
        />
        {after}
      </span>
      {says && (
        <span id={`${id}-note`} className={`note${problem ? ' bad' : ''}`}>
          {says}
        </span>
      )}
    </div>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly note?: string | undefined;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Switch({ label, note, checked, disabled, onChange }: SwitchProps) {
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        {label}
        {note && <span className="note switch-note">{note}</span>}
      </span>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** One of a few, side by side: radio buttons. */
export function Choice<T extends string>({ label, options, value, onChange }: ChoiceProps<T>) {
  const name = useId();
  const [focus, setFocus] = useState(false);
  return (
    <div className="field">
      <span className="label" id={`${name}-label`}>
        {label}
      </span>
      <span className="choice" role="radiogroup" aria-labelledby={`${name}-label`}>
        {options.map((option) => (
          <label
            key={option.value}
            className={`${option.value === value ? 'on' : ''}${option.value === value && focus ? ' focus' : ''}`}
          >
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onFocus={(event) => setFocus(event.target !== null)}
              onBlur={() => setFocus(false)}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </span>
    </div>
  );
}
