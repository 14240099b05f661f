# Completion for bash: commands, options, engines and samplers as `railbird` has them.
_railbird() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local engines="djit fasttrack st su so"
    local samplers="all none random: literace tl-fx g-ad g-fx rnd10 rnd25 ucp pacer: rpt: static:"
    local words=
    case $before in
    --engine | --engines) words=$engines ;;
    --sampler | --samplers) words=$samplers ;;
    -o | --output | --races | --html) ;;
    *)
        if [ "$COMP_CWORD" -eq 1 ]; then
            words="analyze compare trace --version --help"
        elif [[ $word == -* ]]; then
            case $command in
            analyze) words="--engine --sampler --seed --races --lenient --json --help" ;;
            compare) words="--engines --samplers --runs --seed --lenient --json --html --help" ;;
            trace) words="--json --lenient --from --count --output --events --threads --locks --variables --sync --race
                --nesting --functions --sharing --rich --seed --help" ;;
            esac
        elif [ "$command" = trace ] && [ "$COMP_CWORD" -eq 2 ]; then
            words="info cat import export check gen"
        fi
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        compopt -o default
    fi
}
complete -F _railbird railbird
